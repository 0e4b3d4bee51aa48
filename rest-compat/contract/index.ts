import type { Route } from '../shared/route.types.js';
import { agentRoutes } from './agents.js';
import { budgetRoutes } from './budgets.js';
import { chatRoutes } from './chat.js';
import { clientTokenRoutes } from './client-tokens.js';
import { embeddingRoutes } from './embeddings.js';
import { imageEditRoutes } from './image-edits.js';
import { imageRoutes } from './images.js';
import { jobRoutes } from './jobs.js';
import { knowledgeRoutes } from './knowledge.js';
import { modelRoutes } from './models.js';
import { musicRoutes } from './music.js';
import { quotaRoutes } from './quota.js';
import { speechRoutes } from './speech.js';
import { usageRoutes } from './usage.js';
import { transcriptionRoutes } from './transcriptions.js';
import { videoRoutes } from './videos.js';
import { webhookRoutes } from './webhooks.js';

/** The table: every endpoint of /api/v1. */
export const routes: readonly Route[] = [
  ...chatRoutes,
  ...imageRoutes,
  ...videoRoutes,
  ...imageEditRoutes,
  ...speechRoutes,
  ...musicRoutes,
  ...transcriptionRoutes,
  ...embeddingRoutes,
  ...jobRoutes,
  ...quotaRoutes,
  ...usageRoutes,
  ...budgetRoutes,
  ...modelRoutes,
  ...agentRoutes,
  ...knowledgeRoutes,
  ...webhookRoutes,
  ...clientTokenRoutes,
];
