export { createImaging } from './imaging.js';
export type { EditedImage, EditTask } from './edits/edit.js';
export { EDIT_OPERATIONS, MAX_EDIT_PIXELS, UnreadableImageError } from './imaging.types.js';
export type { EditOperation, Imaging, RasterImage } from './imaging.types.js';
