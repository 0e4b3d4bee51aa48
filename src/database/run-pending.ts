import type { Constructor, MigrationObject } from '@mikro-orm/core';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type { Options } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { migrations } from '../../migrations/index.js';
import { ormOptions } from './orm.js';

/** What the migrator takes: a class whose `up` tells the statements. */
function classOf(sql: string): Constructor<Migration> {
  return class extends Migration {
    override up(): void {
      this.addSql(sql);
    }
  };
}

/** Applies what is pending, each migration in a transaction of its own. The caller holds the lock. */
export async function runPending(url: string, logger: Logger): Promise<void> {
  const migrationsList = migrations.map(({ name, sql }): MigrationObject => ({ name, class: classOf(sql) }));
  const orm = await MikroORM.init({
    ...ormOptions(url),
    extensions: [Migrator],
    migrations: { migrationsList, snapshot: false, disableForeignKeys: false, silent: true },
    pool: { min: 0, max: 2 },
    logger: (message: string) => logger.debug(message),
  } as Options);
  try {
    await orm.migrator.up();
  } finally {
    await orm.close();
  }
}
