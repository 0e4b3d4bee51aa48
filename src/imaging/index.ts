export { createImaging } from './imaging.js';
export { UnreadableImageError } from './imaging.types.js';
export type { EditedImage, Imaging, RasterImage } from './imaging.types.js';
export { EDIT_OPERATIONS, MAX_PICTURE_PIXELS } from './operations.js';
export type { EditOperation } from './operations.js';
