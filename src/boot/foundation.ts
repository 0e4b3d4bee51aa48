import type { Logger } from 'pino';
import {
  createAuthenticator,
  createPlanCatalogue,
  type Authenticator,
  type LivePlanCatalogue,
} from '../access/index.js';
import { createAudio, type Audio } from '../audio/index.js';
import { readMcpFile, RULES_OF_TOOLS } from '../agents/index.js';
import type { Config } from '../config/index.js';
import {
  createDatabase,
  noteKafka,
  openInstallation,
  type Database,
  type Installation,
} from '../database/index.js';
import {
  createInProcessBus,
  createKafkaBus,
  createRelay,
  type Bus,
  type EventEnvelope,
} from '../events/index.js';
import { openFiles, type Files } from '../files/index.js';
import { createEgress, type Egress } from '../egress/index.js';
import { createImaging, type Imaging } from '../imaging/index.js';
import { newId } from '../contract/ids.js';
import { createMetering, type Metering } from '../metering/index.js';
import { createModelCatalogue, type ModelCatalogue } from '../models/index.js';
import { createProviderRegistry, type ProviderRegistry } from '../providers/index.js';
import { createSandbox } from '../sandbox/index.js';
import { createTokenizer, type Tokenizer } from '../text/tokenizer.js';
import { TOOLS } from '../contract/words.js';
import { createUsagePublishing } from '../usage/index.js';
import { createVideo, type Video } from '../video/index.js';
import type { Closers } from './closers.js';
import { entities } from './entities.js';
import { allOrEveryFault } from './operator-files.js';
import {
  createTraceLookup,
  openTelemetry,
  traceBus,
  traceMetering,
  traceProviders,
  watchDatabase,
  type Telemetry,
  type TraceLookup,
} from './telemetry/index.js';

/** What every role stands on. */
export interface Foundation {
  config: Config;
  logger: Logger;
  /** This process's id in the table `processes`: its lease there shows other processes that it is alive. */
  processId: string;
  database: Database;
  installation: Installation;
  plans: LivePlanCatalogue;
  authenticator: Authenticator;
  metering: Metering;
  bus: Bus;
  files: Files;
  egress: Egress;
  imaging: Imaging;
  audio: Audio;
  video: Video;
  tokenizer: Tokenizer;
  providers: ProviderRegistry;
  models: ModelCatalogue;
  /** What MCP_FILE lists. */
  mcpServers: Awaited<ReturnType<typeof readMcpFile>>;
  telemetry: Telemetry;
  /** Null without traces. */
  traces: TraceLookup | null;
}

interface Opening {
  config: Config;
  logger: Logger;
  closers: Closers;
  telemetry: Telemetry;
}

/**
 * Reads the operator's files before it opens the database, so that an error in them is reported first.
 * @throws ConfigError, ProvidersFileError, FileStoreError, ApiError unavailable
 */
export async function openFoundation(options: Omit<Opening, 'telemetry'>): Promise<Foundation> {
  const { config, logger, closers } = options;
  const telemetry = await openTelemetry(options);
  const [plans, models, mcpServers] = await allOrEveryFault([
    createPlanCatalogue(config.plansFile),
    openModels({ config, logger, closers, telemetry }),
    readMcpFile(config.mcpFile, config.variables),
  ]);
  const database = await createDatabase({ config, logger, entities });
  closers.add('the database', () => database.close());
  const installation = await openInstallation({ config, database });
  closers.add('the installation', () => installation.close());
  const signing = { current: installation.signingSecret, previous: installation.previousSecret };
  const files = await openFiles({ config, database, signing, logger });
  closers.add('the files', () => files.close());
  const access = openAccess({ config, logger, closers, telemetry, database, plans });
  const traces = telemetry.tracer === null ? null : createTraceLookup(database);
  watchDatabase(telemetry.metrics, database, TOOLS);
  if (config.kafka) await noteKafka(database);
  const bus = openBus({ config, logger, closers, telemetry, database });
  const opened = { config, logger, database, installation, plans, files, bus, telemetry, traces };
  return { ...opened, ...models, ...access, mcpServers };
}

async function openModels({ config, logger, closers, telemetry }: Opening) {
  const egress = createEgress({ config });
  closers.add('the outbound connections', () => egress.close());
  const imaging = createImaging({ config });
  closers.add('the imaging processes', () => imaging.close());
  const audio = createAudio();
  closers.add('the audio processes', () => audio.close());
  const video = createVideo({ portable: !config.nativeCodecs });
  closers.add('the video processes', () => video.close());
  const tokenizer = createTokenizer();
  const { nativeCodecs } = config;
  const sandbox = createSandbox({ tokenizer, imaging, egress, nativeCodecs, toolRules: RULES_OF_TOOLS });
  closers.add("the sandbox's processes", () => sandbox.close());
  const registry = await createProviderRegistry({
    file: config.providersFile,
    env: config.variables,
    sandbox,
    egress,
    publicUrl: config.http.publicUrl,
    logger,
  });
  closers.add('the providers', () => registry.close());
  const { tracer } = telemetry;
  const providers = tracer === null ? registry : traceProviders(registry, tracer);
  return { egress, imaging, audio, video, tokenizer, providers, models: createModelCatalogue({ providers }) };
}

function openAccess(opening: Opening & { database: Database; plans: LivePlanCatalogue }) {
  const { config, logger, closers, telemetry, database, plans } = opening;
  const { metrics, tracer } = telemetry;
  const authenticator = createAuthenticator({ database, plans, logger });
  closers.add('the authenticator', () => authenticator.close());
  const processId = newId('prc');
  const refresh = authenticator.refresh.bind(authenticator);
  const { role } = config;
  const observers = { onBatch: metrics.admissionBatch, onAdmission: metrics.admission };
  const hasEventConsumers = config.kafka !== null;
  const core = createMetering({
    database,
    plans,
    logger,
    processId,
    role,
    refresh,
    ...observers,
    hasEventConsumers,
  });
  core.start();
  closers.add('metering', () => core.close());
  const metering = tracer === null ? core : traceMetering(core, tracer);
  return { authenticator, metering, processId };
}

function openBus({ config, logger, closers, telemetry, database }: Opening & { database: Database }): Bus {
  const { kafka } = config;
  const bus = kafka
    ? createKafkaBus({ config: kafka, logger, onLag: telemetry.metrics.consumerLag })
    : createInProcessBus({ database, logger });
  closers.add('the bus', () => bus.close());
  return bus;
}

/** The relay runs where every consumer group has a member: in workers. */
export function startRelay(foundation: Foundation, closers: Closers): void {
  const { config, database, bus: plain, files, logger, telemetry, traces } = foundation;
  const { tracer } = telemetry;
  const bus =
    tracer === null || traces === null
      ? plain
      : traceBus(plain, tracer, { lookup: traces, kafkaPrefix: config.kafka?.prefix ?? null });
  const render = ({ orgId, data, timestamp }: EventEnvelope) =>
    files.service.sign(orgId, data, new Date(timestamp));
  const relay = createRelay({ database, bus, logger, render });
  relay.start();
  closers.add('the relay', () => relay.close());
  startUsageTopic(foundation, closers);
}

/** The ledger as a topic, where there is Kafka: nothing in the process itself listens to it. */
function startUsageTopic({ config, database, bus, logger }: Foundation, closers: Closers): void {
  if (config.kafka === null) return;
  const publishing = createUsagePublishing({ database, bus, logger });
  publishing.start();
  closers.add('the topic of usage', () => publishing.close());
}
