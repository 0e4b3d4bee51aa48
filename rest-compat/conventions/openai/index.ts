import type { Route } from '../../shared/route.types.js';
import { chatRoutes } from './chat.js';
import { completionRoutes } from './completions.js';
import { embeddingRoutes } from './embeddings.js';
import { imageRoutes } from './images.js';
import { modelRoutes } from './models.js';
import { moderationRoutes } from './moderations.js';
import { rerankRoutes } from './rerank.js';
import { responseRoutes } from './responses.js';
import { speechRoutes } from './speech.js';
import { transcriptionRoutes } from './transcriptions.js';

/** The rows of OpenAI's convention. */
export const openaiRoutes: readonly Route[] = [
  ...chatRoutes,
  ...completionRoutes,
  ...embeddingRoutes,
  ...imageRoutes,
  ...modelRoutes,
  ...moderationRoutes,
  ...rerankRoutes,
  ...responseRoutes,
  ...speechRoutes,
  ...transcriptionRoutes,
];
