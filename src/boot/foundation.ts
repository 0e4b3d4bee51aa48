import type { Logger } from 'pino';
import {
  createAuthenticator,
  createPlanCatalogue,
  type Authenticator,
  type LivePlanCatalogue,
} from '../access/index.js';
import { createAudio, type Audio } from '../audio/index.js';
import type { Config } from '../config.js';
import { createDatabase, openInstallation, type Database, type Installation } from '../database/index.js';
import { createInProcessBus, createKafkaBus, createRelay, type Bus } from '../events/index.js';
import { openFiles, type Files } from '../files/index.js';
import { createImaging, type Imaging } from '../imaging/index.js';
import { newId } from '../ids.js';
import { createMetering, type Metering } from '../metering/index.js';
import { createModelCatalogue, type ModelCatalogue } from '../models/index.js';
import {
  createProviderRegistry,
  createSandboxImage,
  createTokenizer,
  type ProviderRegistry,
  type Tokenizer,
} from '../providers/index.js';
import type { Closers } from './closers.js';

/** What every role stands on. */
export interface Foundation {
  config: Config;
  logger: Logger;
  /** Names this process in `processes`: its lease tells others whether what it holds is still being worked on. */
  processId: string;
  database: Database;
  installation: Installation;
  plans: LivePlanCatalogue;
  authenticator: Authenticator;
  metering: Metering;
  bus: Bus;
  files: Files;
  imaging: Imaging;
  audio: Audio;
  tokenizer: Tokenizer;
  providers: ProviderRegistry;
  models: ModelCatalogue;
}

interface Opening {
  config: Config;
  logger: Logger;
  closers: Closers;
}

/**
 * Files of the operator are read before the database is touched, so that a fault in them ends the start first.
 * @throws ConfigError, ProvidersFileError, FileStoreError, ApiError unavailable
 */
export async function openFoundation({ config, logger, closers }: Opening): Promise<Foundation> {
  const plans = await createPlanCatalogue(config.plansFile);
  const models = await openModels({ config, logger, closers });
  const database = await createDatabase({ config, logger });
  closers.add('the database', () => database.close());
  const installation = await openInstallation({ config, database });
  closers.add('the installation', () => installation.close());
  const signing = { current: installation.signingSecret, previous: installation.previousSecret };
  const files = await openFiles({ config, database, signing, logger });
  closers.add('the files', () => files.close());
  const access = openAccess({ config, logger, closers, database, plans });
  const bus = openBus({ config, logger, closers, database });
  return { config, logger, database, installation, plans, files, bus, ...models, ...access };
}

async function openModels({ config, logger, closers }: Opening) {
  const imaging = createImaging({ config });
  closers.add('the imaging processes', () => imaging.close());
  const audio = createAudio();
  closers.add('the audio processes', () => audio.close());
  const tokenizer = createTokenizer();
  const providers = await createProviderRegistry({
    file: config.providersFile,
    env: config.variables,
    tokenizer,
    sandboxImage: createSandboxImage(imaging),
    audio,
    logger,
  });
  closers.add('the providers', () => providers.close());
  return { imaging, audio, tokenizer, providers, models: createModelCatalogue({ providers }) };
}

function openAccess(opening: Opening & { database: Database; plans: LivePlanCatalogue }) {
  const { config, logger, closers, database, plans } = opening;
  const authenticator = createAuthenticator({ database, plans, logger });
  closers.add('the authenticator', () => authenticator.close());
  const processId = newId('prc');
  const refresh = authenticator.refresh.bind(authenticator);
  const metering = createMetering({ database, plans, logger, processId, role: config.role, refresh });
  metering.start();
  closers.add('metering', () => metering.close());
  return { authenticator, metering, processId };
}

function openBus({ config, logger, closers, database }: Opening & { database: Database }): Bus {
  const { kafka } = config;
  const bus = kafka ? createKafkaBus({ config: kafka, logger }) : createInProcessBus({ database, logger });
  closers.add('the bus', () => bus.close());
  return bus;
}

/** The relay runs where every consumer group has a member: in workers. */
export function startRelay({ database, bus, files, logger }: Foundation, closers: Closers): void {
  const render = (orgId: string, data: Record<string, unknown>) => files.service.sign(orgId, data);
  const relay = createRelay({ database, bus, logger, render });
  relay.start();
  closers.add('the relay', () => relay.close());
}
