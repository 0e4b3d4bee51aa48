export { createImaging } from './imaging.js';
export { UnreadableImageError } from './imaging.types.js';
export type { Imaging, RasterImage } from './imaging.types.js';
