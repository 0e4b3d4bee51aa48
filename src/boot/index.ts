export { startPenstock } from './start.js';
export type { RunningPenstock, StartOptions } from './start.js';
export { bannerOf } from './banner.js';
export { faultsOfFiles } from './operator-files.js';
