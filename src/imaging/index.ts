export { createImaging } from './imaging.js';
export type { EditedImage, EditTask } from './edits/edit.js';
export type { PictureFacts } from './look/look.js';
export { UnreadableImageError } from './imaging.types.js';
export type { Imaging, RasterImage } from './imaging.types.js';
export { EDIT_OPERATIONS, MAX_PICTURE_PIXELS } from './operations.js';
export type { EditOperation } from './operations.js';
