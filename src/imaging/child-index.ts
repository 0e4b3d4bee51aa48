/** What other modules' child processes take of this one: it loads the image library, which the server process must not. */
export { asJpeg } from './jpeg.js';
export { readMark } from './mark.js';
export { readPhotosOnly } from './photos.js';
