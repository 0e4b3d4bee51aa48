/**
 * Compares entities with the tables that the migrations make, by MikroORM's own schema comparator. `npm run check` does so for all of them
 * (src/boot/entities.ts).
 */
import { fileURLToPath } from 'node:url';
import { DatabaseSchema, MikroORM, SchemaComparator } from '@mikro-orm/postgresql';
import { withMigratedDatabase } from './migrated-database.mjs';

/** Columns that no entity carries: statements alone read and write them. A new column is a property, or a line here. */
const STATEMENTS_ONLY = {
  agent_memories: ['embedding', 'run_id'],
  knowledge_files: ['attempt', 'fence', 'lease_until', 'worker_id'],
  webhook_deliveries: ['claim', 'claimed_until', 'scheduled_attempts'],
};

const COMPARED = ['type', 'nullable', 'primary', 'generated'];
const nameOf = (property) => (property === 'nullable' ? 'nullability' : property);

function differencesOfTable(comparator, real, table) {
  if (real === undefined) return [`${table.name}: no such table`];
  const difference = comparator.diffTable(real, table);
  if (difference === false) return [];
  const only = STATEMENTS_ONLY[table.name] ?? [];
  const missing = Object.keys(difference.removedColumns).filter((name) => !only.includes(name));
  const changed = Object.values(difference.changedColumns).flatMap(({ oldColumnName, changedProperties }) =>
    COMPARED.filter((property) => changedProperties.has(property)).map(
      (property) => `${table.name}.${oldColumnName}: another ${nameOf(property)}`,
    ),
  );
  return [
    ...changed,
    ...Object.keys(difference.renamedColumns).map((name) => `${table.name}.${name}: another name`),
    ...Object.keys(difference.addedColumns).map((name) => `${table.name}.${name}: no such column`),
    ...missing.map((name) => `${table.name}.${name}: no property of the entity`),
  ];
}

/**
 * Columns in which entities and their tables differ: `table.column: how`. Indexes, policies and defaults are the migrations' own.
 * @param {string} url of a migrated database
 * @param {readonly object[]} entities
 */
export async function differencesOf(url, entities) {
  const orm = await MikroORM.init({
    dbName: 'x',
    driverOptions: { connectionString: url },
    entities: [...entities],
  });
  try {
    const platform = orm.em.getPlatform();
    const described = [...orm.getMetadata().getAll().values()];
    const wanted = DatabaseSchema.fromMetadata(described, platform, orm.config);
    const found = await DatabaseSchema.create(orm.em.getConnection(), platform, orm.config);
    const comparator = new SchemaComparator(platform);
    return wanted
      .getTables()
      .flatMap((table) => differencesOfTable(comparator, found.getTable(table.name), table));
  } finally {
    await orm.close();
  }
}

/** @returns {Promise<{faults: string[]}>} every difference between the product's entities and its schema */
export async function checkEntities() {
  const work = async ({ url, load }) => await differencesOf(url, (await load('entities')).entities);
  return { faults: await withMigratedDatabase(work, ['src/boot/entities.ts']) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { faults } = await checkEntities();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
