import { createEgress } from '../egress/index.js';
import { createInputFetcher } from '../files/index.js';
import {
  createChatService,
  createEmbeddingService,
  createGenerationService,
  createImageEditKind,
  createImageKind,
  createMusicKind,
  createSpeechKind,
  createTranscriptionKind,
  jobHandlersOf,
} from '../generation/index.js';
import { createJobLookup, createJobService, type JobHandler } from '../jobs/index.js';
import { createSearch } from '../search/index.js';
import type { Services } from '../services.js';
import { createSecretBox, createWebhookService } from '../webhooks/index.js';
import { createJobHub, type JobHub } from '../../subscriptions/index.js';
import { openAgents, type Agents } from './agents.js';
import { createKnowledgeService, createMemoryService } from '../agents/index.js';
import type { Closers } from './closers.js';
import type { Foundation } from './foundation.js';

/** The services of a process, and what its worker runs. */
export interface Composition {
  services: Services;
  handlers: JobHandler[];
  hub: JobHub;
  agents: Agents;
  egress: ReturnType<typeof createEgress>;
  secrets: ReturnType<typeof createSecretBox>;
}

/** @param draining fires when the process stops taking work */
export async function compose(
  foundation: Foundation,
  closers: Closers,
  draining: AbortSignal,
): Promise<Composition> {
  const { config, logger, database, bus, plans, authenticator, metering, models, providers, installation } =
    foundation;
  const files = foundation.files.service;
  const egress = createEgress({ config });
  closers.add('the outbound connections', () => egress.close());
  const inputs = createInputFetcher({ egress, files });
  const jobs = createJobService({ database, logger });
  closers.add('the job service', () => jobs.close());
  const media = {
    models,
    providers,
    files,
    inputs,
    audio: foundation.audio,
    imaging: foundation.imaging,
    logger,
  };
  const kinds = [
    createImageKind(media),
    createImageEditKind(media),
    createSpeechKind(media),
    createTranscriptionKind(media), createMusicKind(media),
  ];
  const shared = {
    config,
    logger,
    models,
    providers,
    metering,
    files,
    inputs,
    tokenizer: foundation.tokenizer,
  };
  const search = createSearch(config);
  closers.add('the search provider', () => search.close());
  const chat = createChatService({ ...shared, search });
  const secrets = createSecretBox({
    current: installation.signingSecret,
    previous: installation.previousSecret,
  });
  const hub = await createJobHub({
    jobs,
    hints: database.hints,
    bus,
    lookup: createJobLookup(database),
    logger,
  });
  closers.add('the subscription hub', () => hub.close());
  const knowledge = createKnowledgeService({ database, files });
  const memories = createMemoryService({ database });
  const agents = await openAgents({
    foundation,
    closers,
    egress,
    inputs,
    search,
    knowledge,
    memory: memories,
  });
  const services: Services = {
    ...agents.services,
    knowledge,
    memories,
    webhooks: createWebhookService({ database, egress, files, secrets, config }),
    config,
    database,
    bus,
    plans,
    authenticator,
    metering,
    files,
    models,
    jobs,
    jobEvents: hub,
    chat,
    embeddings: createEmbeddingService(shared),
    generation: createGenerationService({ ...shared, kinds, jobs, draining }),
  };
  return { services, handlers: jobHandlersOf(kinds, models), hub, agents, egress, secrets };
}
