import type { Logger } from 'pino';
import { createPlanCatalogue } from '../access/index.js';
import { readMcpFile } from '../agents/index.js';
import { loadConfig } from '../config/index.js';
import type { Config } from '../config/index.js';
import { createDatabase, lookAtInstallation } from '../database/index.js';
import type { Database } from '../database/index.js';
import { createKafkaClient, disconnect } from '../events/index.js';
import { openFiles } from '../files/index.js';
import { createModelCatalogue } from '../models/index.js';
import { createProviderRegistry, reachUpstream, readProvidersFile } from '../providers/index.js';
import { createCliLogger } from './session.js';
import { SERVER_INFO } from './doctor.queries.js';

/** What was looked at, and what was found. */
export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** Never holds a secret: messages name variables, files and addresses of the operator's own. */
export interface Report {
  ok: boolean;
  checks: Check[];
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function check(name: string, look: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await look() };
  } catch (error) {
    return { name, ok: false, detail: reasonOf(error) };
  }
}

async function lookAtDatabase(database: Database): Promise<string> {
  const rows = await database.system.query<{ version: string; organizations: number }>(SERVER_INFO);
  return `PostgreSQL ${rows[0]?.version}, ${rows[0]?.organizations} organizations`;
}

async function lookAtKafka(config: Config, logger: Logger): Promise<string> {
  if (config.kafka === null) return 'not configured; events stay in PostgreSQL';
  const admin = createKafkaClient(config.kafka, logger).admin();
  try {
    await admin.connect();
    const topics = await admin.listTopics();
    const own = topics.filter((topic) => topic.startsWith(`${config.kafka?.prefix}.`));
    return `reachable, ${own.length} topics of Penstock`;
  } finally {
    await disconnect(admin, logger);
  }
}

async function lookAtModels(config: Config, logger: Logger): Promise<string> {
  const providers = await createProviderRegistry({
    file: config.providersFile,
    env: config.variables,
    logger,
  });
  try {
    const models = createModelCatalogue({ providers }).list();
    return `${models.length} models, ${models.filter((model) => model.available).length} available`;
  } finally {
    await providers.close();
  }
}

/** Checks the upstreams of PROVIDERS_FILE and those that a key in the environment enables. */
async function upstreamChecks(config: Config): Promise<Check[]> {
  try {
    const { upstreams } = await readProvidersFile({ file: config.providersFile, env: config.variables });
    return await Promise.all(
      upstreams.map(async (upstream) => ({
        name: `provider ${upstream.id}`,
        ...(await reachUpstream(upstream)),
      })),
    );
  } catch {
    return []; // the file's fault is told by the check of the models
  }
}

async function lookAtMcp({ mcpFile, variables }: Config): Promise<string> {
  if (mcpFile === null) return 'not configured';
  return `${Object.keys(await readMcpFile(mcpFile, variables)).length} servers listed`;
}

async function lookAtFiles(config: Config, database: Database, logger: Logger): Promise<string> {
  const installation = await lookAtInstallation({ config, database });
  // An environment that is not this installation's asks no store: it might mark one as this installation's.
  if (!(await installation.agrees())) throw new Error('another process runs with a different SIGNING_SECRET');
  const signing = { current: installation.signingSecret, previous: installation.previousSecret };
  const files = await openFiles({ config, database, signing, logger });
  files.close();
  return `${config.files.s3?.url ?? 'DATA_DIR/files'} belongs to installation ${installation.id}`;
}

async function databaseChecks(config: Config, logger: Logger): Promise<Check[]> {
  let database: Database;
  try {
    database = await createDatabase({ config, logger });
  } catch (error) {
    const detail = reasonOf(error);
    return [
      { name: 'database', ok: false, detail },
      { name: 'files', ok: false, detail: 'cannot be checked without the database' },
    ];
  }
  try {
    return [
      await check('database', () => lookAtDatabase(database)),
      await check('files', () => lookAtFiles(config, database, logger)),
    ];
  } finally {
    await database.close();
  }
}

/** Looks at everything that a start needs. @throws ConfigError */
export async function runDoctor(): Promise<Report> {
  const config = loadConfig();
  const logger = createCliLogger();
  logger.level = 'silent';
  const groups = await Promise.all([
    databaseChecks(config, logger),
    check('kafka', () => lookAtKafka(config, logger)),
    check('plans', async () => {
      await createPlanCatalogue(config.plansFile);
      return config.plansFile ?? "the contract's plans";
    }),
    check('mcp', () => lookAtMcp(config)),
    check('providers', () => lookAtModels(config, logger)),
    upstreamChecks(config),
  ]);
  const checks = groups.flat();
  return { ok: checks.every(({ ok }) => ok), checks };
}
