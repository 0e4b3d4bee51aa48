import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  createAuthenticator,
  createKeyService,
  createOrganizationService,
  createPlanCatalogue,
} from '../../src/access/index.js';
import { createStorage, openFiles } from '../../src/files/index.js';
import type { Files } from '../../src/files/index.js';
import {
  createGenerationService,
  createImageKind,
  createUpstreams,
  jobHandlersOf,
} from '../../src/generation/index.js';
import type { GenerationKind, GenerationService } from '../../src/generation/index.js';
import { createImaging } from '../../src/imaging/index.js';
import { createJobService, createJobWorker } from '../../src/jobs/index.js';
import type { JobService, JobWorker } from '../../src/jobs/index.js';
import { createMetering } from '../../src/metering/index.js';
import type { CallContext, Metering } from '../../src/metering/index.js';
import { createUsage } from '../../src/usage/index.js';
import type { Usage } from '../../src/usage/index.js';
import { createModelCatalogue } from '../../src/models/index.js';
import { createProviderRegistry } from '../../src/providers/index.js';
import { createSandbox } from '../../src/sandbox/index.js';
import { createTokenizer } from '../../src/text/tokenizer.js';
import type { PlanCode } from '../../src/contract/words.js';
import { createTestDatabase } from './database.js';
import type { TestDatabase } from './database.js';

export interface GenerationEngine {
  test: TestDatabase;
  generation: GenerationService;
  jobs: JobService;
  metering: Metering;
  usage: Usage;
  files: Files;
  worker: JobWorker;
  /** Fires the drain signal. */
  drain(): void;
  /** An organisation with a key, and a way to make its calls. */
  createOrg(
    plan?: PlanCode,
  ): Promise<{ orgId: string; call(more?: Partial<CallContext>): Promise<CallContext> }>;
  close(): Promise<void>;
}

/** The engine from admission to stored files, without an API; one process with both roles, API and worker. */
export async function createGenerationEngine(
  options: {
    env?: Record<string, string>;
    providers?: object;
    plans?: object;
    /** The worker does not start. */
    paused?: boolean;
    adapt?: (kind: GenerationKind<unknown>, files: Files) => GenerationKind<unknown>;
  } = {},
): Promise<GenerationEngine> {
  const logger = pino({ level: 'silent' });
  const test = await createTestDatabase(options.env);
  const { config, database } = test;
  const write = async (name: string, content: object | undefined) => {
    if (content === undefined) return null;
    const file = join(config.dataDir, name);
    await writeFile(file, JSON.stringify(content));
    return file;
  };
  const plans = await createPlanCatalogue(await write('plans.json', options.plans));
  const authenticator = createAuthenticator({ database, plans, logger });
  const metering = createMetering({
    database,
    plans,
    logger,
    processId: `prc_${randomUUID()}`,
    role: 'all',
    refresh: (principal) => authenticator.refresh(principal),
  });
  metering.start();
  const files = await openFiles({ config, database, signing: { current: 'secret', previous: null }, logger });
  const server: Server = createServer((request, response) => void files.handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  config.http.publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const imaging = createImaging({ config });
  const providers = await createProviderRegistry({
    file: await write('providers.json', options.providers),
    env: {},
    sandbox: createSandbox({ tokenizer: createTokenizer(), imaging }),
    logger,
  });
  const models = createModelCatalogue({ providers });
  const jobs = createJobService({ database, files: files.service, logger });
  const image = createImageKind({
    providers,
    upstreams: createUpstreams({ models, providers, logger }),
    files: files.service,
    imaging,
    logger,
  });
  const kinds = [options.adapt?.(image, files) ?? image];
  const draining = new AbortController();
  const generation = createGenerationService({
    kinds,
    models,
    metering,
    jobs,
    files: files.service,
    storage: createStorage(database),
    config,
    logger,
    draining: draining.signal,
  });
  const worker = createJobWorker({
    database,
    handlers: jobHandlersOf(kinds, { models, providers }),
    files: files.service,
    logger,
  });
  if (options.paused !== true) worker.start();
  return {
    test,
    generation,
    jobs,
    metering,
    usage: createUsage({ database }),
    files,
    worker,
    drain: () => draining.abort(),
    async createOrg(plan = 'business_monthly') {
      const org = await createOrganizationService({ database, plans }).create({
        name: randomUUID(),
        planCode: plan,
      });
      const key = await createKeyService({ database }).create({
        orgId: org.id,
        name: 'test',
        scopes: ['image'],
      });
      return {
        orgId: org.id,
        call: async (more = {}) => ({
          principal: await authenticator.authenticate(`Bearer ${key.key}`),
          requestId: randomUUID(),
          client: { serviceClient: null, clientName: null, userAgent: null },
          signal: new AbortController().signal,
          keyWindowOpen: true,
          rate: null,
          idempotencyKey: null,
          ...more,
        }),
      };
    },
    async close() {
      await worker.stop({ graceMs: 0 });
      jobs.close();
      imaging.close();
      await providers.close();
      await metering.close();
      await authenticator.close();
      files.close();
      server.closeAllConnections();
      server.close();
      await test.close();
    },
  };
}
