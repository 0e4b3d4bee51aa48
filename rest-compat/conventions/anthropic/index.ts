import type { Route } from '../../shared/route.types.js';
import { messageRoutes } from './messages.js';

/** The rows of Anthropic's convention. (Its list of models is a form of OpenAI's row.) */
export const anthropicRoutes: readonly Route[] = [...messageRoutes];
