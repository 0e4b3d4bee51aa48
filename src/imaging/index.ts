export { createImaging } from './imaging.js';
export { UnreadableImageError } from './imaging.types.js';
export type { EditedImage, Imaging, RasterImage } from './imaging.types.js';
export { EDIT_OPERATIONS } from '../contract/edit-operations.js';
export type { EditOperation } from '../contract/edit-operations.js';
export { MAX_PICTURE_PIXELS } from './operations.js';
