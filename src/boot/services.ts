import {
  createClientTokenService,
  createKeyService,
  createMemberService,
  createOperatorRegistry,
  createOrganizationService,
  createPeopleService,
  createTeamService,
  createTrustedDocuments,
} from '../access/index.js';
import { createDeadLetterStore } from '../events/index.js';
import type { OrganizationService } from '../access/index.js';
import { createOperatorService, createProviderHealth } from '../operator/index.js';
import type { OperatorService } from '../operator/index.js';
import { createAuditLog } from '../audit/index.js';
import type { Egress } from '../egress/index.js';
import { createInputFetcher, createStorage } from '../files/index.js';
import {
  createMetadataSeal,
  createChatEngine,
  createChatService,
  createEmbeddingService,
  createModerationService,
  createRerankService,
  createGenerationService,
  createJobKinds,
  createMessageService,
  createResponseService,
  createResponseStore,
  jobHandlersOf,
} from '../generation/index.js';
import { createJobEventReader, createJobLookup, createJobService, type JobHandler } from '../jobs/index.js';
import { createUsage, createUsageStreamSource } from '../usage/index.js';
import { createBudgetService, createStreamLimits } from '../metering/index.js';
import { createSearch } from '../search/index.js';
import type { Services } from '../services.js';
import { createSecretBox, createWebhookService } from '../webhooks/index.js';
import { createJobHub, createResponseHub, createUsageHub } from '../../subscriptions/index.js';
import type { JobHub, ResponseHub, UsageHub } from '../../subscriptions/index.js';
import { openAgents, type Agents } from './agents.js';
import { createKnowledgeService, createMemoryService } from '../agents/index.js';
import type { Closers } from './closers.js';
import type { Foundation } from './foundation.js';

/** The services of a process, and what its worker runs. */
export interface Composition {
  services: Services;
  handlers: JobHandler[];
  hub: JobHub;
  responseHub: ResponseHub;
  usageHub: UsageHub;
  /** Ends all long polls: each is answered with the job's current state. */
  endPolls(): void;
  agents: Agents;
  egress: Egress;
  secrets: ReturnType<typeof createSecretBox>;
}

/** @param draining fires when the process stops taking work */
export async function compose(
  foundation: Foundation,
  closers: Closers,
  draining: AbortSignal,
): Promise<Composition> {
  const { config, logger, database, bus, plans, authenticator, metering, models } = foundation;
  const files = foundation.files.service;
  const storage = createStorage(database);
  const { egress, inputs, search } = openOutside(foundation, closers);
  const { jobs, hub } = await openJobs(foundation, closers);
  const kinds = createJobKinds({ ...foundation, files, inputs });
  const { providers, tokenizer } = foundation;
  const shared = { config, logger, models, providers, metering, files, inputs, tokenizer };
  const knowledge = createKnowledgeService({ database, files });
  const memories = createMemoryService({ database });
  const reach = { foundation, closers, egress, inputs, search };
  const agents = await openAgents({ ...reach, knowledge, memory: memories });
  const secrets = secretBoxOf(foundation);
  const engine = createChatEngine({ ...shared, search, documents: knowledge });
  const seal = createMetadataSeal(signingOf(foundation));
  const store = createResponseStore({ database, storage });
  const responses = createResponseService({ database, engine, store, seal, isHeard: config.kafka !== null });
  const responseHub = await createResponseHub({ responses, hints: database.hints, bus, logger });
  closers.add('the hub of responses', () => responseHub.close());
  const usageHub = openUsageHub(foundation, closers);
  const services: Services = {
    ...agents.services,
    ...accessServices(foundation),
    knowledge,
    memories,
    webhooks: createWebhookService({ database, egress, files, secrets, config }),
    config,
    database,
    bus,
    plans,
    authenticator,
    metering,
    usage: createUsage({ database }),
    usageEvents: usageHub,
    budgets: createBudgetService({ database }),
    streams: createStreamLimits(),
    files,
    uploads: foundation.files.uploads,
    storage,
    models,
    jobs,
    jobEvents: hub,
    chat: createChatService(engine.options, engine),
    responses,
    responseEvents: responseHub,
    messages: createMessageService({ engine, seal }),
    embeddings: createEmbeddingService(shared),
    rerank: createRerankService(shared),
    moderations: createModerationService(shared),
    generation: createGenerationService({ ...shared, kinds, jobs, storage, draining }),
  };
  const handlers = jobHandlersOf(kinds, { models, providers });
  const hubs = { hub, responseHub, usageHub };
  return { services, handlers, ...hubs, endPolls: () => jobs.drain(), agents, egress, secrets };
}

/** Live usage and quotas. */
function openUsageHub({ database, metering, logger }: Foundation, closers: Closers): UsageHub {
  const quota = (orgId: string) => metering.quota(orgId);
  const hub = createUsageHub({ source: createUsageStreamSource(database), quota, logger });
  closers.add('the hub of usage', () => hub.close());
  return hub;
}

/** Organisations, their keys and their people, and who changed what of them. */
function accessServices(foundation: Foundation) {
  const { config, database, plans } = foundation;
  const organizations = createOrganizationService({ database, plans });
  return {
    audit: createAuditLog({ database }),
    organizations,
    operator: operatorService(foundation, organizations),
    keys: createKeyService({ database }),
    clientTokens: createClientTokenService({ database }),
    trustedDocuments: createTrustedDocuments({ database, mode: config.http.trustedDocuments }),
    team: createTeamService({ database, members: createMemberService({ database }) }),
    people: createPeopleService({ database }),
  };
}

/** What operators see and change. */
function operatorService(foundation: Foundation, organizations: OrganizationService): OperatorService {
  const { config, database, plans, metering, models, logger } = foundation;
  const providers = { file: config.providersFile, env: config.variables };
  return createOperatorService({
    database,
    plans,
    organizations,
    metering,
    deadLetters: createDeadLetterStore({ database, kafka: config.kafka, logger }),
    operatorRegistry: createOperatorRegistry({ database }),
    providers: createProviderHealth({ providers, models, usage: createUsage({ database }) }),
  });
}

/** Services that connect to other hosts. */
function openOutside({ config, egress, files }: Foundation, closers: Closers) {
  const search = createSearch(config);
  closers.add('the search provider', () => search.close());
  return { egress, search, inputs: createInputFetcher({ egress, files: files.service }) };
}

async function openJobs({ database, bus, files, logger }: Foundation, closers: Closers) {
  const jobs = createJobService({ database, files: files.service, logger });
  closers.add('the job service', () => jobs.close());
  const { hints } = database;
  const reads = { positions: createJobLookup(database), all: createJobEventReader(database) };
  const hub = await createJobHub({ jobs, hints, bus, ...reads, logger });
  closers.add('the subscription hub', () => hub.close());
  return { jobs, hub };
}

const signingOf = ({ installation }: Foundation) => ({
  current: installation.signingSecret,
  previous: installation.previousSecret,
});

function secretBoxOf(foundation: Foundation) {
  return createSecretBox(signingOf(foundation));
}
