import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { ApiError } from '../errors.js';
import { SYSTEM_ROLE, TENANT_ROLE } from '../../migrations/tenancy.js';
import type { Database, Sql, SqlValue, Statement, SystemDatabase } from './database.types.js';
import { createDedicated } from './dedicated.js';
import { useEmbeddedPostgres } from './embedded/index.js';
import type { EmbeddedPostgres } from './embedded/index.js';
import { createHints } from './hints.js';
import { migrate } from './migrate.js';
import { createStatementNames, queryAsOrg } from './org-query.js';
import { createPool, patiently } from './pool.js';
import type { Pool, Server } from './pool.js';

export type { Database, Sql, SqlValue, Statement, SystemDatabase } from './database.types.js';
export { useEmbeddedPostgres } from './embedded/index.js';
export { migrate } from './migrate.js';
export { openInstallation } from './installation.js';
export type { Installation } from './installation.js';

const toQuery = (statement: string | Statement, values: SqlValue[]) =>
  typeof statement === 'string' ? { text: statement, values } : { ...statement, values };

function systemSql(pool: Pool): Sql {
  return {
    query: <Row>(statement: string | Statement, values: SqlValue[] = []) =>
      pool.use(async (client) => (await client.query(toQuery(statement, values))).rows as Row[]),
  };
}

function transactions(pool: Pool): Database['transaction'] {
  return (work) =>
    pool.use(async (client) => {
      await client.query('BEGIN');
      try {
        const result = await work({
          query: async <Row>(statement: string | Statement, values: SqlValue[] = []) =>
            (await client.query(toQuery(statement, values))).rows as Row[],
        });
        await client.query('COMMIT');
        return result;
      } catch (error) {
        // A lost connection has rolled back already; the first fault is the one to tell.
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
}

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

/** At a start the operator reads the message, who can do something about the reason. */
function explainStart(error: unknown): never {
  if (!(error instanceof ApiError) || !(error.cause instanceof Error)) throw error;
  const { message, code } = error.cause as NodeJS.ErrnoException;
  throw new ApiError('unavailable', `PostgreSQL does not answer: ${message || code}`, error.details);
}

/**
 * Everything rests on connections taking their role. A pooler between us and PostgreSQL may drop start-up options without a word, and
 * every tenant would then see all rows.
 * @throws Error
 */
async function checkRole(pool: Pool, role: string): Promise<void> {
  const { rows } = await pool.use((client) => client.query<{ role: string }>('SELECT current_user AS role'));
  if (rows[0]?.role === role) return;
  throw new Error(
    `DATABASE_URL: connections act as ${rows[0]?.role} instead of ${role}; connect to PostgreSQL itself`,
  );
}

/** Readiness is asked for often and must not wait as patiently as calls do. */
const HEALTHY_MS = 1000;

const answers = (system: Sql): Promise<boolean> =>
  system.query('SELECT 1').then(
    () => true,
    () => false,
  );

async function openSystem(config: Config, logger: Logger, server: Server): Promise<SystemDatabase> {
  await patiently(server, () => migrate({ url: server.url, logger })).catch(explainStart);
  const max = config.database.poolSize;
  const systemPool = createPool({ server, role: SYSTEM_ROLE, max, logger });
  const tenantPool = createPool({ server, role: TENANT_ROLE, max, logger });
  await Promise.all([checkRole(systemPool, SYSTEM_ROLE), checkRole(tenantPool, TENANT_ROLE)]);
  const system = systemSql(systemPool);
  const hints = await createHints({ server, role: SYSTEM_ROLE, sql: system, logger });
  const nameOf = createStatementNames();
  return {
    system,
    transaction: transactions(systemPool),
    tenantQuery: <Row>(orgId: string, text: string, values: SqlValue[] = []) =>
      tenantPool.use((client) => queryAsOrg<Row>(client, orgId, { name: nameOf(text), text, values })),
    dedicated: () => Promise.resolve(createDedicated({ server, role: SYSTEM_ROLE, logger })),
    hints,
    healthy: () => Promise.race([answers(system), sleep(HEALTHY_MS, false, { ref: false })]),
    async close() {
      await hints.close();
      await Promise.all([systemPool.close(), tenantPool.close()]);
    },
  };
}

async function openEntities(config: Config, logger: Logger, server: Server) {
  const { createOrm, createTenantWork } = await import('./orm.js');
  const orm = await createOrm({ server, role: TENANT_ROLE, max: config.database.poolSize, logger });
  return { orm, tenant: createTenantWork(orm, server), close: () => orm.close() };
}

interface DatabaseOptions {
  config: Config;
  logger: Logger;
}

/** Whatever `open` makes, with a `close` that also gives the share in an embedded server back. */
async function withServer<T extends { close(): Promise<void> }>(
  { config, logger }: DatabaseOptions,
  open: (server: Server) => Promise<T>,
): Promise<T> {
  const { server, embedded } = await reach(config, logger);
  try {
    const opened = await open(server);
    return {
      ...opened,
      async close() {
        await opened.close();
        await embedded?.release();
      },
    };
  } catch (error) {
    await embedded?.release();
    throw error;
  }
}

/** As {@link createDatabase}, without entities: quicker to start. */
export function createSystemDatabase(options: DatabaseOptions): Promise<SystemDatabase> {
  return withServer(options, (server) => openSystem(options.config, options.logger, server));
}

/**
 * Connects to `DATABASE_URL`, or starts or adopts the embedded PostgreSQL of `DATA_DIR`; migrates; opens the pools of both roles.
 * @throws ApiError unavailable where PostgreSQL does not answer for 5 s
 */
export function createDatabase(options: DatabaseOptions): Promise<Database> {
  const { config, logger } = options;
  return withServer(options, async (server) => {
    const system = await openSystem(config, logger, server);
    const { orm, tenant, close } = await openEntities(config, logger, server);
    return {
      ...system,
      orm,
      tenant,
      async close() {
        await system.close();
        await close();
      },
    };
  });
}
