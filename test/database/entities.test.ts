import { DatabaseSchema, defineEntity, MikroORM, p, SchemaComparator } from '@mikro-orm/postgresql';
import type { EntitySchema } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entities } from '../../src/boot/entities.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

/** Columns that no entity carries: statements alone read and write them. A new column is a property, or a line here. */
const STATEMENTS_ONLY: Record<string, string[]> = {
  agent_memories: ['embedding', 'run_id'],
  knowledge_files: ['attempt', 'fence', 'lease_until', 'worker_id'],
  webhook_deliveries: ['claim', 'claimed_until', 'scheduled_attempts'],
};

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.close());

/** Columns in which entities and their tables differ: `table.column: how`. Indexes, policies and defaults are the migrations' own. */
async function differences(described: readonly EntitySchema[]): Promise<string[]> {
  const orm = await MikroORM.init({
    dbName: 'x',
    driverOptions: { connectionString: db.url },
    entities: [...described],
  });
  try {
    const platform = orm.em.getPlatform();
    const wanted = DatabaseSchema.fromMetadata(
      [...orm.getMetadata().getAll().values()],
      platform,
      orm.config,
    );
    const found = await DatabaseSchema.create(orm.em.getConnection(), platform, orm.config);
    const comparator = new SchemaComparator(platform);
    return wanted.getTables().flatMap((table) => {
      const real = found.getTable(table.name);
      if (real === undefined) return [`${table.name}: no such table`];
      const difference = comparator.diffTable(real, table);
      if (difference === false) return [];
      const only = STATEMENTS_ONLY[table.name] ?? [];
      const missing = Object.keys(difference.removedColumns).filter((name) => !only.includes(name));
      const changed = Object.values(difference.changedColumns).flatMap(
        ({ oldColumnName, changedProperties }) =>
          ['type', 'nullable', 'primary', 'generated']
            .filter((property) => changedProperties.has(property))
            .map(
              (property) =>
                `${table.name}.${oldColumnName}: another ${property === 'nullable' ? 'nullability' : property}`,
            ),
      );
      return [
        ...changed,
        ...Object.keys(difference.renamedColumns).map((name) => `${table.name}.${name}: another name`),
        ...Object.keys(difference.addedColumns).map((name) => `${table.name}.${name}: no such column`),
        ...missing.map((name) => `${table.name}.${name}: no property of the entity`),
      ];
    });
  } finally {
    await orm.close();
  }
}

test('entities and tables have the same columns, of the same types, nullable alike', async () => {
  expect(await differences(entities)).toEqual([]);
});

test('a column of another type, another nullability or another name is noticed, and one that is left out', async () => {
  const wrong = defineEntity({
    name: 'Wrong',
    tableName: 'members',
    properties: {
      orgId: p.text().primary(),
      userId: p.text().primary(),
      role: p.integer(),
      createdAt: p.datetime().nullable(),
      invented: p.boolean(),
    },
  });
  expect(await differences([wrong])).toEqual([
    'members.role: another type',
    'members.created_at: another nullability',
    'members.invented: no such column',
  ]);
  const short = defineEntity({
    name: 'Short',
    tableName: 'members',
    properties: { orgId: p.text().primary() },
  });
  expect(await differences([short])).toEqual(
    ['user_id', 'role', 'created_at'].map((name) => `members.${name}: no property of the entity`),
  );
  const nowhere = defineEntity({ name: 'Nowhere', properties: { id: p.text().primary() } });
  expect(await differences([nowhere])).toEqual(['nowhere: no such table']);
});
