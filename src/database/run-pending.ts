import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type { Options } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { migrations } from '../../migrations/index.js';
import { ormOptions } from './orm.js';

/** Applies what is pending, each migration in a transaction of its own. The caller holds the lock. */
export async function runPending(url: string, logger: Logger): Promise<void> {
  const orm = await MikroORM.init({
    ...ormOptions(url),
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, disableForeignKeys: false, silent: true },
    pool: { min: 0, max: 2 },
    logger: (message: string) => logger.debug(message),
  } as Options);
  try {
    await orm.migrator.up();
  } finally {
    await orm.close();
  }
}
