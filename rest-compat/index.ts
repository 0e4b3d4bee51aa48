export { createRestTable } from './shared/handler.js';
export type { RestHandler, RestTable } from './shared/handler.js';
export { BASE_PATH } from './shared/request.js';
export type { RestOptions } from './shared/rest.types.js';
export { describeApi, printApi } from './shared/openapi/openapi.js';
