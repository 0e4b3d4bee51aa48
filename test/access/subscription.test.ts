import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganizationService, createPlanCatalogue } from '../../src/access/index.js';
import type { OrganizationService } from '../../src/access/index.js';
import { Organization } from '../../src/access/access.entity.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

let db: TestDatabase;
let organizations: OrganizationService;

beforeAll(async () => {
  db = await createTestDatabase();
  organizations = createOrganizationService({
    database: db.database,
    plans: await createPlanCatalogue(null),
  });
});
afterAll(() => db.close());

const eventsOf = async (orgId: string): Promise<string[]> => {
  const rows = await db.database.system.query<{ event: { type: string; data: Record<string, string> } }>(
    `SELECT event FROM outbox WHERE key = $1 AND event ->> 'type' LIKE 'subscription.%' ORDER BY id`,
    [orgId],
  );
  return rows.map(({ event }) => `${event.type} ${event.data['planCode']} ${event.data['status']}`);
};

const anchorOf = async (orgId: string): Promise<Date> => {
  const rows = await db.database.system.query<{ anchor_at: Date }>(
    'SELECT anchor_at FROM organizations WHERE id = $1',
    [orgId],
  );
  return rows[0]?.anchor_at ?? new Date(NaN);
};

const moveAnchor = (orgId: string, days: number) =>
  db.database.system.query(
    `UPDATE organizations SET anchor_at = anchor_at - make_interval(days => $2) WHERE id = $1`,
    [orgId, days],
  );

test.each([
  ['2026-01-31T10:00:00Z', '2026-02-28T09:59:59Z', '2026-01-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z'],
  ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', '2026-02-28T10:00:00.000Z', '2026-03-31T10:00:00.000Z'],
  ['2026-01-31T10:00:00Z', '2026-04-30T12:00:00Z', '2026-04-30T10:00:00.000Z', '2026-05-31T10:00:00.000Z'],
  ['2028-01-31T00:00:00Z', '2028-03-01T00:00:00Z', '2028-02-29T00:00:00.000Z', '2028-03-31T00:00:00.000Z'],
  ['2025-11-15T00:00:00Z', '2026-11-14T23:59:59Z', '2026-10-15T00:00:00.000Z', '2026-11-15T00:00:00.000Z'],
  ['2026-06-10T00:00:00Z', '2026-06-01T00:00:00Z', '2026-06-10T00:00:00.000Z', '2026-07-10T00:00:00.000Z'],
])('a period counts months from the anchor: %s at %s', async (anchor, at, start, end) => {
  const rows = await db.database.system.query<{ period_start: Date; period_end: Date }>(
    'SELECT * FROM penstock_period($1::timestamptz, $2::timestamptz)',
    [anchor, at],
  );
  expect(rows.map((row) => [row.period_start.toISOString(), row.period_end.toISOString()])).toEqual([
    [start, end],
  ]);
});

test('a first paid plan creates a subscription, Free does not', async () => {
  const free = await organizations.create({ name: 'Free org', planCode: 'free' });
  expect(free).toMatchObject({ plan: 'free', entitled: true });
  expect(await eventsOf(free.id)).toEqual([]);
  await moveAnchor(free.id, 10);
  const before = await anchorOf(free.id);
  await organizations.changePlan(free.id, 'cli_pro');
  expect(await eventsOf(free.id)).toEqual(['subscription.created cli_pro active']);
  expect((await anchorOf(free.id)).getTime()).toBeGreaterThan(before.getTime());
});

test('a change between paid plans keeps the period', async () => {
  const { id } = await organizations.create({ name: 'Growing', planCode: 'pro_monthly' });
  await moveAnchor(id, 10);
  const before = await organizations.get(id);
  expect(await organizations.changePlan(id, 'business_monthly')).toEqual({
    ...before,
    plan: 'business_monthly',
  });
  await organizations.changePlan(id, 'business_monthly');
  expect(await eventsOf(id)).toEqual([
    'subscription.created pro_monthly active',
    'subscription.updated business_monthly active',
  ]);
});

test('cancelling lets the period run out, once, and can be taken back before its end', async () => {
  const { id, periodEnd } = await organizations.create({ name: 'Wavering', planCode: 'pro_monthly' });
  const cancelled = await organizations.cancel(id);
  expect(cancelled).toMatchObject({ plan: 'pro_monthly', entitled: true, periodEnd });
  expect(await organizations.cancel(id)).toEqual(cancelled);
  await organizations.changePlan(id, 'pro_monthly');
  expect(await eventsOf(id)).toEqual([
    'subscription.created pro_monthly active',
    'subscription.cancelled pro_monthly cancelled',
    'subscription.updated pro_monthly active',
  ]);
});

test('after an ended subscription a new one begins with a new period', async () => {
  const { id } = await organizations.create({ name: 'Returning', planCode: 'pro_monthly' });
  await organizations.cancel(id);
  await moveAnchor(id, 3);
  await db.database.system.query('UPDATE organizations SET subscription_ends_at = now() WHERE id = $1', [id]);
  expect(await organizations.get(id)).toMatchObject({ plan: 'pro_monthly', entitled: false });
  const before = await anchorOf(id);
  expect(await organizations.changePlan(id, 'pro_monthly')).toMatchObject({ entitled: true });
  expect((await anchorOf(id)).getTime()).toBeGreaterThan(before.getTime());
  expect((await eventsOf(id)).at(-1)).toBe('subscription.created pro_monthly active');
});

test('what cannot be is refused with its reason', async () => {
  const { id } = await organizations.create({ name: 'Twin', planCode: 'free' });
  await organizations.create({ name: 'Twin', planCode: 'free' });
  await expect(organizations.cancel(id)).rejects.toThrow('There is no subscription to cancel');
  await expect(organizations.create({ name: ' ', planCode: 'free' })).rejects.toThrow('name is required');
  await expect(organizations.changePlan(id, 'gold' as 'free')).rejects.toThrow('Unknown plan: gold');
  await expect(organizations.changePlan('org_unknown', 'free')).rejects.toThrow('Organization not found');
  await expect(organizations.resolveId('Twin')).rejects.toThrow('Several organizations are named Twin');
  await expect(organizations.resolveId('Nobody')).rejects.toThrow('Organization not found');
  expect(await organizations.resolveId(id)).toBe(id);
});

test('a change of an organisation that was changed meanwhile is refused, and nothing of it is kept', async () => {
  const { id } = await organizations.create({ name: 'Both', planCode: 'free' });
  const stale = db.database.allTenants(async (em) => {
    const organization = await em.findOneOrFail(Organization, { id });
    await organizations.changePlan(id, 'pro_monthly');
    organization.name = 'Neither';
  });
  await expect(stale).rejects.toThrow();
  expect(await organizations.get(id)).toMatchObject({ name: 'Both', plan: 'pro_monthly' });
});
