/** For child processes of other modules: it loads the image library, which the server process must not load. */
export { asJpeg } from './jpeg.js';
export { readMark } from './mark.js';
export { readPhotosOnly } from './photos.js';
