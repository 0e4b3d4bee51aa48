export { createRestHandler } from './handler.js';
export type { RestHandler } from './handler.js';
export { BASE_PATH } from './request.js';
export type { RestOptions } from './rest.types.js';
export { describeApi, printApi } from './openapi/openapi.js';
