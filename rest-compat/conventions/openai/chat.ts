import { chatRoutes as contractRoutes } from '../../contract/chat.js';
import type { Route } from '../../shared/route.types.js';

/** The contract's chat speaks the convention already (contract 4.1): errors and defaults of /v1 aside it is the same (beyond 11.6). */
export const chatRoutes: readonly Route[] = contractRoutes.map((route) => ({ ...route, dialect: 'chat' }));
