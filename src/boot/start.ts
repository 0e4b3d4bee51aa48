import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createAgentRetention, createKnowledgeWorker, createRunWorker } from '../agents/index.js';
import { createDemo, type Principal } from '../access/index.js';
import type { Config } from '../config/index.js';
import { writeFault } from '../http/index.js';
import { createResponseRetention, isCallable } from '../generation/index.js';
import { createJobRetention, createJobWorker, createRetention } from '../jobs/index.js';
import { forgetCounters, rotateLedgerPartitions } from '../metering/index.js';
import type { Model } from '../models/models.types.js';
import type { RateState } from '../metering/metering.types.js';
import type { Services } from '../services.js';
import { createFolding } from '../usage/index.js';
import { createDeliveryWorker, storeWebhookPlans } from '../webhooks/index.js';
import { createClosers, type Closers } from './closers.js';
import { openFaces, type Faces } from './faces.js';
import { openFoundation, startRelay, type Foundation } from './foundation.js';
import { takeAccessToken } from './http/access-token.js';
import { createAccessLog } from './http/access-log.js';
import { createCors } from './http/cors.js';
import { createHealth } from './http/health.js';
import type { AddressSource } from './http/client-address.js';
import { listen, type HttpServer, type Upgrade } from './http/http-server.js';
import { createRouter } from './http/router.js';
import { observeDeliveries, observeHandlers, observeHttp, observeRuns } from './telemetry/index.js';
import { compose, type Composition } from './services.js';

/** Requests, streams and jobs have this long to end after a stop signal (decisions 9). */
const DRAIN_TIMEOUT_MS = 25_000;

export interface StartOptions {
  config: Config;
  logger: Logger;
}

/** A process of Penstock that serves. */
export interface RunningPenstock {
  port: number;
  /** The address where this process listens. Callers use `config.http.publicUrl`. */
  url: string;
  services: Services;
  /** The Demo organisation's key: only at the first start on an empty embedded database. */
  demo: { orgId: string; key: string; linkToken: string } | null;
  /** Reads PROVIDERS_FILE and PLANS_FILE again. A file with an error is logged and changes nothing. */
  reload(): Promise<void>;
  /** Drains and closes everything; later calls return the same promise. */
  close(): Promise<void>;
}

/**
 * Starts a process in its role. It listens first, so a port in use ends the start before a database or a file is opened.
 * @throws Error EADDRINUSE, ConfigError, ProvidersFileError, FileStoreError, ApiError unavailable; nothing is left open then
 */
export async function startPenstock({ config: given, logger }: StartOptions): Promise<RunningPenstock> {
  const closers = createClosers(logger);
  try {
    const server = await listen({ ...given.http, role: given.role });
    closers.add('the HTTP server', () => server.close());
    const config = withPort(given, server.port);
    return await run({ config, logger, closers, server });
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

interface Starting extends StartOptions {
  closers: Closers;
  server: HttpServer;
}

async function run({ config, logger, closers, server }: Starting): Promise<RunningPenstock> {
  const drain = new AbortController();
  const foundation = await openFoundation({ config, logger, closers });
  await storeWebhookPlans(foundation.database.system, foundation.plans);
  const demo = await createDemo(foundation);
  const composition = await compose(foundation, closers, drain.signal);
  const stopWork =
    config.role === 'api' ? async () => undefined : startWork(foundation, composition, closers);
  const faces = await serve({ foundation, composition, closers, server, draining: drain.signal });
  if (faces) warmUp(foundation);
  let closing: Promise<void> | null = null;
  const close = async () => {
    drain.abort();
    faces?.ws.drain();
    composition.hub.drain();
    composition.agents.hub.drain();
    composition.responseHub.drain();
    composition.usageHub.drain();
    const drained = server.drain({
      timeoutMs: DRAIN_TIMEOUT_MS,
      busy: () => faces?.ws.busy ?? false,
      leave: () => composition.endPolls(),
      cut: () => {
        composition.services.chat.stop();
        foundation.metering.hurry();
      },
    });
    await Promise.all([drained, stopWork()]);
    await closers.closeAll();
  };
  return {
    port: server.port,
    url: urlOf(config.http.host, server.port),
    services: composition.services,
    demo,
    reload: () => reload(foundation),
    close: () => (closing ??= close()),
  };
}

/** Prepares what the first call would otherwise wait for. It runs in the background, after the process has begun to listen. */
function warmUp({ metering, tokenizer, logger }: Foundation): void {
  metering
    .connect()
    .catch((error: unknown) => logger.warn({ err: error }, 'metering has no connection to the database yet'));
  tokenizer.load().catch((error: unknown) => logger.error({ err: error }, 'the tokenizer does not load'));
}

/** What forgets old jobs, runs, responses and counters of budgets. */
function startRetentions({ config, logger, database, files }: Foundation, closers: Closers): void {
  const removeFiles = (orgId: string, ids: string[]) => files.service.remove(orgId, ids);
  const { retentionDays } = config.jobs;
  for (const create of [createJobRetention, createAgentRetention, createResponseRetention]) {
    const retention = create({ database, removeFiles, retentionDays, logger });
    retention.start();
    closers.add('retention', () => retention.close());
  }
  for (const [what, forgetSome] of [
    ['counters of budgets', () => forgetCounters(database)],
    [
      'months of the ledger',
      () => rotateLedgerPartitions(database, { keep: config.ledgerRetentionMonths, logger }),
    ],
  ] as const) {
    const retention = createRetention({ what, forgetSome, logger });
    retention.start();
    closers.add(`the retention of ${what}`, () => retention.close());
  }
}

/** Whether a job's key may use a fallback. A job goes on without the key that asked for it: then nothing else stands in for its model. */
function fallbacksOf(authenticator: Foundation['authenticator']) {
  return (keyId: string, model: Model): Promise<boolean> =>
    authenticator.refresh({ keyId } as Principal).then(
      (caller) => isCallable(caller, model),
      () => false,
    );
}

/** Starts a worker's tasks. The returned function stops the running jobs; the closers stop the rest. */
function startWork(foundation: Foundation, composition: Composition, closers: Closers): () => Promise<void> {
  const { config, logger, database, files } = foundation;
  const { egress, secrets } = composition;
  const { metrics: meters, tracer } = foundation.telemetry;
  const lookup = foundation.traces;
  const handlers = observeHandlers(composition.handlers, { meters, tracer, lookup });
  startRelay(foundation, closers);
  startRetentions(foundation, closers);
  files.startRetention();
  const folding = createFolding({ database, logger });
  folding.start();
  closers.add('the folding of usage', () => folding.close());
  const deliveries = createDeliveryWorker({
    database,
    egress,
    files: files.service,
    secrets,
    isUnderstood: () => foundation.installation.isUnderstood(),
    config,
    logger,
    observe: observeDeliveries(meters, tracer, lookup),
  });
  deliveries.start();
  closers.add('the webhook deliveries', () => deliveries.close());
  const { authenticator } = foundation;
  const worker = createJobWorker({
    database,
    handlers,
    files: files.service,
    concurrency: config.jobs.concurrency,
    logger,
    mayUseFallback: fallbacksOf(authenticator),
  });
  worker.start();
  const runs = createRunWorker({
    ...composition.agents.execution,
    ...(tracer && { observe: observeRuns(tracer) }),
  });
  runs.start();
  const responses = composition.services.responses.worker({
    refresh: (principal) => authenticator.refresh(principal),
  });
  responses.start();
  const reader = createKnowledgeWorker({ database, files: files.service, logger });
  reader.start();
  return async () => {
    const graceMs = DRAIN_TIMEOUT_MS;
    const stoppedBy = performance.now() + graceMs;
    await Promise.all([
      worker.stop({ graceMs }),
      runs.stop({ graceMs }),
      responses.stop({ graceMs }),
      reader.stop(),
    ]);
    // A webhook's receiver may be slow. An attempt that is cut off here is repeated by another process.
    const left = sleep(Math.max(0, stoppedBy - performance.now()), undefined, { ref: false });
    await Promise.race([deliveries.land(), left]);
  };
}

interface Serving {
  foundation: Foundation;
  composition: Composition;
  closers: Closers;
  server: HttpServer;
  draining: AbortSignal;
}

/** Every role answers on its port: a worker its health only. */
async function serve(serving: Serving): Promise<Faces | null> {
  const { foundation, composition, closers, server, draining } = serving;
  const { config, logger, installation, telemetry } = foundation;
  const cors = createCors(config.http.corsOrigins);
  const checks = { database: () => isReached(foundation), signingSecret: () => installation.agrees() };
  const health = createHealth({ checks, draining, role: config.role });
  const { services } = composition;
  const { unauthenticated: unauthenticatedConnections } = server;
  const faces =
    config.role === 'worker'
      ? null
      : await openFaces({ foundation, services, closers, draining, cors, unauthenticatedConnections });
  const route = createRouter({
    accessLog: createAccessLog(logger),
    cors,
    health,
    metrics: telemetry.metrics,
    files: foundation.files.handler,
    publicUrl: config.http.publicUrl,
    trustProxy: config.http.trustProxy,
    api: faces?.api ?? null,
  });
  const rateOf = (caller: AddressSource): RateState | null => faces?.api.addressRate(caller) ?? null;
  const upgrade: Upgrade = (request, socket, head) => {
    takeAccessToken(request);
    if (faces && !draining.aborted) return faces.ws.handleUpgrade(request, socket, head);
    const rate = rateOf(request);
    if (faces)
      writeFault(socket, { status: 503, error: 'Service temporarily unavailable', retryAfter: 1, rate });
    else writeFault(socket, { status: 404, error: 'Not found', rate });
  };
  server.serve(observeHttp(route, telemetry), upgrade, rateOf);
  return faces;
}

/** Whether PostgreSQL answers. A process that serves calls also checks its metering connections, because PostgreSQL may have no free connections. */
async function isReached({ config, database, metering }: Foundation): Promise<boolean> {
  const charges = config.role === 'worker' ? null : metering.connect();
  const [answers] = await Promise.all([database.healthy(), charges]);
  return answers;
}

async function reload({ database, plans, providers, logger }: Foundation): Promise<void> {
  const readPlans = async (): Promise<void> => {
    await plans.reload();
    await storeWebhookPlans(database.system, plans);
  };
  const files = { PLANS_FILE: readPlans, PROVIDERS_FILE: () => providers.reload() };
  for (const [name, read] of Object.entries(files)) {
    try {
      await read();
      logger.info(`${name} was read again`);
    } catch (error) {
      logger.error({ err: error }, `${name} has an error; the previous version stays in force`);
    }
  }
}

/** An IPv6 address stands in brackets. */
function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** With PORT 0 the port is known only now. PUBLIC_URL is then derived from it, unless it is configured. */
function withPort(config: Config, port: number): Config {
  if (config.http.port === port) return config;
  const isDefault = config.http.publicUrl === `http://127.0.0.1:${config.http.port}`;
  const publicUrl = isDefault ? `http://127.0.0.1:${port}` : config.http.publicUrl;
  return { ...config, http: { ...config.http, port, publicUrl } };
}
