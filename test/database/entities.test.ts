import { defineEntity, p } from '@mikro-orm/postgresql';
import type { EntitySchema } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { differencesOf } from '../../scripts/check-entities.mjs';
import { entities } from '../../src/boot/entities.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.close());

const differences = (described: readonly EntitySchema[]) => differencesOf(db.url, described);

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
