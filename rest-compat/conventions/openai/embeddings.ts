import { embeddingRoutes as contractRoutes } from '../../contract/embeddings.js';
import type { Route } from '../../shared/route.types.js';

/** The contract's embeddings are the convention's. */
export const embeddingRoutes: readonly Route[] = contractRoutes;
