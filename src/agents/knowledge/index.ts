export { createKnowledgeService } from './knowledge.service.js';
export type { KnowledgeOptions } from './knowledge.service.js';
export { createKnowledgeWorker } from './knowledge.worker.js';
export type { KnowledgeWorker, KnowledgeWorkerOptions } from './knowledge.worker.js';
