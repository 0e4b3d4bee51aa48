export { createDocuments } from './documents.js';
export type { DocumentRequest, Documents, Prepared } from './documents.js';
export { LIMITS } from './limits.js';
