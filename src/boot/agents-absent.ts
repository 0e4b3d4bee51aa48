import type { KnowledgeService, MemoryService } from '../agents/index.js';
import { invalid, notFound } from '../errors.js';

/** An installation without knowledge files. */
export function withoutKnowledge(): KnowledgeService {
  const none = () => Promise.reject(notFound('Knowledge file not found'));
  return {
    upload: none,
    list: () => Promise.resolve([]),
    get: none,
    delete: none,
    copy: () => Promise.resolve(),
    search: () => Promise.resolve([]),
    extract: () => Promise.reject(invalid('Unsupported file type', 'file')),
  };
}

/** An installation whose agents remember nothing. */
export function withoutMemory(): MemoryService {
  return {
    remember: () => Promise.resolve(),
    recall: () => Promise.resolve([]),
    list: () => Promise.resolve({ nodes: [], nextCursor: null }),
    delete: () => Promise.reject(notFound('Memory not found')),
  };
}
