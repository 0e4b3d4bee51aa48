export { createImaging } from './imaging.js';
export { EDIT_OPERATIONS } from './edits/edit.js';
export type { EditedImage, EditOperation, EditTask } from './edits/edit.js';
export { MAX_EDIT_PIXELS } from './edits/raster.js';
export { UnreadableImageError } from './imaging.types.js';
export type { Imaging, RasterImage } from './imaging.types.js';
