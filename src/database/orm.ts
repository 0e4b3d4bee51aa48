import { MikroORM } from '@mikro-orm/postgresql';
import type { EntityManager, Options } from '@mikro-orm/postgresql';
import pg from 'pg';
import type { Logger } from 'pino';
import { entities } from './entities.js';
import { isConnectionFault, PATIENCE_MS, unavailable } from './faults.js';
import { connectionAs, KEEP_ALIVE, patiently } from './pool.js';
import type { Server } from './pool.js';
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

export async function createOrm(options: {
  server: Server;
  role: string;
  max: number;
  connectionWatch: ConnectionWatch;
  logger: Logger;
}): Promise<MikroORM> {
  const { server, role, max, connectionWatch, logger } = options;
  return MikroORM.init({
    ...ormOptions(server.url, {
      ...connectionAs(server, role),
      application_name: 'penstock',
      connectionTimeoutMillis: PATIENCE_MS,
      ...KEEP_ALIVE,
      allowExitOnIdle: true,
      onPoolCreated(pool: pg.Pool) {
        connectionWatch.watch(pool);
        guardPool(pool, logger);
      },
    }),
    entities,
    pool: { min: 0, max },
    connect: false,
    logger: (message) => logger.debug(message),
  } as Options);
}

/** @see Database.tenant */
export function createTenantWork(orm: MikroORM, server: Server) {
  return async <T>(orgId: string, work: (em: EntityManager) => Promise<T>): Promise<T> => {
    let begun = false;
    const attempt = (): Promise<T> =>
      orm.em.fork().transactional(async (em) => {
        await em.execute(`SELECT set_config('penstock.org_id', ?, true)`, [orgId]);
        begun = true;
        em.setFilterParams('tenant', { orgId });
        return work(em as EntityManager);
      });
    try {
      return await patiently(server, () =>
        attempt().catch((error: unknown) => {
          // Once the work has begun it is not repeated: hide the fault from the retry.
          throw begun && isConnectionFault(error) ? unavailable(error) : error;
        }),
      );
    } catch (error) {
      throw isConnectionFault(error) ? unavailable(error) : error;
    }
  };
}
