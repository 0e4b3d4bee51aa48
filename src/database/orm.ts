import { MikroORM } from '@mikro-orm/postgresql';
import type { EntityManager, EntitySchema, Options } from '@mikro-orm/postgresql';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Database } from './database.types.js';
import { isConnectionFault, UNAVAILABLE_AFTER_MS, unavailable } from './faults.js';
import { connectionAs, KEEP_ALIVE, retryUntilAvailable } from './pool.js';
import type { Server } from './pool.js';
import { SYSTEM_ROLE } from './roles.js';
import type { Reach } from './tenant-filter.js';
import type { ConnectionWatch } from './connection-watch.js';

/** pg-pool gives every checked-out client the function that returns it. */
type CheckedOut = pg.PoolClient & { release(destroy?: boolean): void };

/**
 * Kysely never returns a connection whose transaction it cannot roll back, so that each backend lost in one would cost a slot of the pool
 * for ever (kysely issue 1990). A client that ends while it is out is returned here, once; its owner's own return then does nothing.
 */
export function guardPool(pool: pg.Pool, logger: Logger): void {
  const out = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => out.add(client));
  pool.on('release', (_error, client) => out.delete(client as pg.PoolClient));
  pool.on('connect', (client) => {
    client.on('error', (error) => logger.debug({ err: error }, 'a database connection was lost'));
    client.once('end', () => {
      if (!out.has(client)) return;
      const lost = client as CheckedOut;
      lost.release(true);
      lost.release = () => undefined;
    });
  });
  pool.on('error', (error) => logger.debug({ err: error }, 'an idle database connection was lost'));
}

/** MikroORM reads only parts of a connection string; pg reads all of it, as libpq does (sockets, sslmode). */
export function ormOptions(url: string, driverOptions: object = {}): Options {
  return {
    dbName: new pg.Client({ connectionString: url }).database,
    driverOptions: { connectionString: url, ...driverOptions },
    forceUtcTimezone: true,
    discovery: { warnWhenNoEntities: false },
  } as Options;
}

/** Made by its constructor: `MikroORM.init` also looks for optional packages (seeder, entity generator), and loads the migrator, at every start. */
export function createOrm(options: {
  server: Server;
  role: string;
  entities: readonly EntitySchema[];
  max: number;
  connectionWatch: ConnectionWatch;
  logger: Logger;
}): MikroORM {
  const { server, role, entities, max, connectionWatch, logger } = options;
  return new MikroORM({
    ...ormOptions(server.url, {
      ...connectionAs(server, role),
      application_name: 'penstock',
      connectionTimeoutMillis: UNAVAILABLE_AFTER_MS,
      ...KEEP_ALIVE,
      allowExitOnIdle: true,
      onPoolCreated(pool: pg.Pool) {
        connectionWatch.watch(pool);
        guardPool(pool, logger);
      },
    }),
    entities: [...entities],
    pool: { min: 0, max },
    connect: false,
    logger: (message) => logger.debug(message),
  } as Options);
}

/** What a transaction of entities runs as, and what its filter lets through. */
interface Bounds {
  session: { role?: string; variables?: Record<string, string> };
  reach: Reach;
}

async function inTransaction<T>(
  orm: MikroORM,
  { session, reach }: Bounds,
  { work, commits }: { work: (em: EntityManager) => Promise<T>; commits: () => void },
): Promise<T> {
  const em = orm.em.fork() as EntityManager;
  em.setFilterParams('tenant', reach);
  await em.begin({ sessionContext: session });
  try {
    const result = await work(em);
    await em.flush();
    commits();
    await em.commit();
    return result;
  } catch (error) {
    // A lost connection has rolled back already; the first fault is the one to tell.
    await em.rollback().catch(() => undefined);
    throw error;
  }
}

/**
 * Transactions with an entity manager. Connections act as the tenant role, which sees nothing until an organisation is bound: what serves all
 * organisations takes the system role for its one transaction.
 * @see Database.tenant, Database.allTenants
 */
export function createEntityWork(orm: MikroORM, server: Server): Pick<Database, 'tenant' | 'allTenants'> {
  const run = async <T>(bounds: Bounds, work: (em: EntityManager) => Promise<T>): Promise<T> => {
    let isFinal = false;
    const commits = (): void => void (isFinal = true);
    try {
      return await retryUntilAvailable(server, () =>
        inTransaction(orm, bounds, { work, commits }).catch((error: unknown) => {
          // What was lost with its COMMIT may have taken effect: hide the fault from the retry.
          throw isFinal && isConnectionFault(error) ? unavailable(error) : error;
        }),
      );
    } catch (error) {
      throw isConnectionFault(error) ? unavailable(error) : error;
    }
  };
  return {
    tenant: (orgId, work) =>
      run({ session: { variables: { 'penstock.org_id': orgId } }, reach: { orgId } }, work),
    allTenants: (work) => run({ session: { role: SYSTEM_ROLE }, reach: { everybody: true } }, work),
  };
}
