import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import type { MemberService } from '../../src/access/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

const ORG = 'org_00000000000000000000000001';
let db: TestDatabase;
let members: MemberService;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.system.query(
    `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, 'Acme', 'business_monthly', 'usr_1')`,
    [ORG],
  );
  members = createMemberService({ database: db.database });
});
afterAll(() => db.close());

async function events(): Promise<{ type: string; data: unknown }[]> {
  const rows = await db.database.system.query<{ event: { type: string; data: unknown } }>(
    `DELETE FROM outbox RETURNING event`,
  );
  return rows.map(({ event: { type, data } }) => ({ type, data }));
}

test('adding, changing and removing a member each emit one event with the person and the role', async () => {
  const added = await members.add(ORG, 'Ann@Example.com', 'member');
  expect(added).toEqual({ userId: expect.stringMatching(/^usr_/), email: 'ann@example.com', role: 'member' });
  expect(await events()).toEqual([{ type: 'team.member.added', data: added }]);
  const changed = await members.changeRole(ORG, 'ann@example.com', { role: 'admin' });
  expect(changed).toEqual({ ...added, role: 'admin', previousRole: 'member' });
  expect(await events()).toEqual([{ type: 'team.member.role_changed', data: changed }]);
  expect(await members.changeRole(ORG, 'ann@example.com', { role: 'admin' })).toMatchObject({
    role: 'admin',
  });
  expect(await events()).toEqual([]);
  const removed = await members.remove(ORG, 'ann@example.com');
  expect(await events()).toEqual([{ type: 'team.member.removed', data: { ...added, role: 'admin' } }]);
  expect(removed.userId).toBe(added.userId);
  expect(await members.list(ORG)).toEqual([]);
});

test('a person is one user in every organisation, in any spelling of the address', async () => {
  const first = await members.add(ORG, 'bob@example.com', 'viewer');
  await expect(members.add(ORG, 'BOB@example.com', 'admin')).rejects.toMatchObject({ code: 'conflict' });
  await members.remove(ORG, 'Bob@Example.com');
  expect((await members.add(ORG, 'bob@example.com', 'viewer')).userId).toBe(first.userId);
  await events();
});

test('the last owner stays, also when two owners leave at the same time', async () => {
  await members.add(ORG, 'o1@example.com', 'owner');
  await members.add(ORG, 'o2@example.com', 'owner');
  const results = await Promise.allSettled([
    members.remove(ORG, 'o1@example.com'),
    members.changeRole(ORG, 'o2@example.com', { role: 'viewer' }),
  ]);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const owners = (await members.list(ORG)).filter(({ role }) => role === 'owner');
  expect(owners).toHaveLength(1);
});

test.each([
  ['no address', 'x', 'member', 'Invalid email'],
  ['an unknown role', 'c@example.com', 'boss', 'role must be one of owner, admin, member, viewer'],
])('%s is refused', async (_, email, role, message) => {
  await expect(members.add(ORG, email, role as 'member')).rejects.toMatchObject({
    code: 'invalid_request',
    message,
  });
});

test('who is no member cannot be removed', async () => {
  await expect(members.remove(ORG, 'nobody@example.com')).rejects.toMatchObject({ code: 'not_found' });
});
