import { setTimeout as sleep } from 'node:timers/promises';
import type { EntitySchema } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import type { Config } from '../config/index.js';
import { ApiError } from '../contract/errors.js';
import { SYSTEM_ROLE, TENANT_ROLE } from './roles.js';
import type { Database, Sql } from './database.types.js';
import { createDedicated } from './dedicated.js';
import { useEmbeddedPostgres } from './embedded/index.js';
import type { EmbeddedPostgres } from './embedded/index.js';
import { createHints } from './hints.js';
import { InstallationEntity } from './installation.entity.js';
import { migrate } from './migrate.js';
import { createEntityWork, createOrm } from './orm.js';
import { createPool, retryUntilAvailable } from './pool.js';
import type { ConnectionLosses, Pool, Server } from './pool.js';
import { createConnectionWatch } from './connection-watch.js';
import type { ConnectionWatch } from './connection-watch.js';
import { systemSql, tenantQueries, transactions } from './statements.js';

export type { Database, DedicatedSql, EarlyResults, Sql, SqlValue, Statement } from './database.types.js';
export { useEmbeddedPostgres } from './embedded/index.js';
export { migrate } from './migrate.js';
export { InstallationEntity } from './installation.entity.js';
export { lookAtInstallation, noteKafka, openInstallation, publicUrlOf } from './installation.js';
export { sqlOf } from './entity-sql.js';
export { tenantFilter } from './tenant-filter.js';
export type { Installation } from './installation.js';

async function reach(
  config: Config,
  logger: Logger,
): Promise<{ server: Server; embedded: EmbeddedPostgres | null }> {
  if (config.database.url !== null) {
    return { server: { url: config.database.url, ensure: () => Promise.resolve() }, embedded: null };
  }
  const embedded = await useEmbeddedPostgres({ dataDir: config.dataDir, logger });
  return { server: embedded, embedded };
}

/** SQLSTATE of what the operator can mend: a refused login (class 28), a database that is not there, a right that the user lacks. */
const REFUSED = /^(?:28...|3D000|42501)$/;

/** What PostgreSQL says itself has a code of five characters, and none of its classes begins with E, as all of the system's faults do. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** What the client says of TLS and of passwords, mostly without a code. */
const UNMET = /\b(?:SSL|SASL|TLS)\b|certificate/i;

/** At a start the operator reads the message, who can do something about the reason. */
function explainStart(error: unknown): never {
  const reason = error instanceof ApiError ? error.cause : error;
  if (!(reason instanceof Error)) throw error;
  const { message, code = '' } = reason as NodeJS.ErrnoException;
  if (error instanceof ApiError) {
    const said = SQLSTATE.test(code) ? 'takes no work' : 'does not answer';
    throw new ApiError('unavailable', `PostgreSQL ${said}: ${message || code}`, error.details);
  }
  if (!SQLSTATE.test(code) && UNMET.test(message))
    throw new ApiError('unavailable', `DATABASE_URL: PostgreSQL cannot be reached as it asks: ${message}`, {
      cause: error,
    });
  if (!REFUSED.test(code)) throw error;
  const hint = 'docs/operations.md says what the user of DATABASE_URL needs';
  throw new ApiError('unavailable', `PostgreSQL refuses: ${message} (${hint})`, { cause: error });
}

const CONNECTION = `
SELECT current_user AS role, current_setting('server_encoding') AS encoding, current_setting('transaction_read_only') = 'on' AS "readOnly"`;

/**
 * Everything rests on connections taking their role. A pooler between us and PostgreSQL may drop start-up options without a word, and
 * every tenant would then see all rows. An encoding other than UTF-8 has no room for most of what callers write.
 * @throws ApiError unavailable
 */
async function checkConnections(pool: Pool, role: string): Promise<void> {
  const { rows } = await pool.use(({ client }) =>
    client.query<{ role: string; encoding: string; readOnly: boolean }>(CONNECTION),
  );
  const [found] = rows;
  const refuse = (message: string): never => {
    throw new ApiError('unavailable', message);
  };
  if (found?.role !== role)
    return refuse(
      `DATABASE_URL: connections act as ${found?.role} instead of ${role}; connect to PostgreSQL itself`,
    );
  if (found.encoding !== 'UTF8')
    refuse(`DATABASE_URL: the database's encoding is ${found.encoding}; Penstock needs one in UTF8`);
  if (found.readOnly)
    refuse(
      'DATABASE_URL: connections may only read; connect to the primary, as a user without default_transaction_read_only',
    );
}

/** Readiness is asked for often and must not wait as retryUntilAvailable as calls do. */
const HEALTHY_MS = 1000;

/** A standby answers too, and can do none of our work. */
const WRITABLE = `SELECT current_setting('transaction_read_only') = 'off' AS writable`;

/** Whether PostgreSQL answers and can be written to, and calls of both roles have a connection to it. */
async function answers(system: Sql, tenantPool: Pool): Promise<boolean> {
  try {
    const [[row]] = await Promise.all([system.query<{ writable: boolean }>(WRITABLE), tenantPool.stands()]);
    return row?.writable === true;
  } catch {
    return false;
  }
}

/** What all connections to one server share. */
interface SharedServer {
  server: Server;
  losses: ConnectionLosses;
  connectionWatch: ConnectionWatch;
}

async function openSystem(
  { config, logger }: DatabaseOptions,
  reached: SharedServer,
): Promise<Omit<Database, keyof Entities>> {
  const { server } = reached;
  await retryUntilAvailable(server, () => migrate({ url: server.url, logger })).catch(explainStart);
  const max = config.database.poolSize;
  const systemPool = createPool({ ...reached, role: SYSTEM_ROLE, max, logger });
  const tenantPool = createPool({ ...reached, role: TENANT_ROLE, max, logger });
  await Promise.all([
    checkConnections(systemPool, SYSTEM_ROLE),
    checkConnections(tenantPool, TENANT_ROLE),
  ]).catch(explainStart);
  const system = systemSql(systemPool);
  const connection = { ...reached, role: SYSTEM_ROLE, logger };
  const hints = await createHints({ ...connection, sql: system });
  return {
    system,
    transaction: transactions(systemPool),
    tenantQuery: tenantQueries(tenantPool),
    dedicated: (settings = {}) => Promise.resolve(createDedicated({ ...connection, settings })),
    hints,
    healthy: () => Promise.race([answers(system, tenantPool), sleep(HEALTHY_MS, false, { ref: false })]),
    async close() {
      await hints.close();
      await Promise.all([systemPool.close(), tenantPool.close()]);
    },
  };
}

type Entities = Pick<Database, 'orm' | 'tenant' | 'allTenants'>;

async function openEntities(
  { config, logger, entities = [] }: DatabaseOptions,
  { server, connectionWatch }: SharedServer,
): Promise<Entities & { close(): Promise<void> }> {
  const orm = createOrm({
    server,
    role: TENANT_ROLE,
    entities: [...new Set([InstallationEntity, ...entities])],
    max: config.database.poolSize,
    connectionWatch,
    logger,
  });
  return { orm, ...createEntityWork(orm, server), close: () => orm.close() };
}

interface DatabaseOptions {
  config: Config;
  logger: Logger;
  /** What the entity managers know beside the installation. Default: nothing. */
  entities?: readonly EntitySchema[];
}

/** Whatever `open` makes, with a `close` that also gives the share in an embedded server back. */
async function withServer<T extends { close(): Promise<void> }>(
  { config, logger }: DatabaseOptions,
  open: (reached: SharedServer) => Promise<T>,
): Promise<T> {
  const { server, embedded } = await reach(config, logger);
  const losses: ConnectionLosses = { count: 0 };
  const connectionWatch = createConnectionWatch({ server, role: SYSTEM_ROLE, losses, logger });
  try {
    const opened = await open({ server, losses, connectionWatch });
    return {
      ...opened,
      async close() {
        await opened.close();
        connectionWatch.close();
        await embedded?.release();
      },
    };
  } catch (error) {
    connectionWatch.close();
    await embedded?.release();
    throw error;
  }
}

/**
 * Connects to `DATABASE_URL`, or starts or adopts the embedded PostgreSQL of `DATA_DIR`; migrates; opens the pools of both roles.
 * @throws ApiError unavailable where PostgreSQL does not answer for 5 s
 */
export function createDatabase(options: DatabaseOptions): Promise<Database> {
  return withServer(options, async (reached) => {
    const system = await openSystem(options, reached);
    const entities = await openEntities(options, reached);
    return {
      ...system,
      ...entities,
      async close() {
        await system.close();
        await entities.close();
      },
    };
  });
}
