export { createRestTables } from './shared/handler.js';
export type { RestHandler, RestTable } from './shared/handler.js';
export { contractFace } from './contract/convention.js';
export { conventionsFace } from './conventions/index.js';
export type { RestOptions } from './shared/rest.types.js';
export { describeApi, printApi } from './shared/openapi/openapi.js';
