import { embeddingRoutes as contractRoutes } from '../../contract/embeddings.js';
import type { Route } from '../../shared/route.types.js';

/** The contract's embeddings already have the convention's form. */
export const embeddingRoutes: readonly Route[] = contractRoutes;
