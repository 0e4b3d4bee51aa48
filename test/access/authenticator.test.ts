import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  createAuthenticator,
  createKeyService,
  createOrganizationService,
  createPlanCatalogue,
} from '../../src/access/index.js';
import type {
  Authenticator,
  KeyService,
  LivePlanCatalogue,
  OrganizationService,
} from '../../src/access/index.js';
import { createDatabase } from '../../src/database/index.js';
import type { Database } from '../../src/database/index.js';
import { ApiError } from '../../src/contract/errors.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

const logger = pino({ level: 'silent' });
let db: TestDatabase;
let other: Database;
let plans: LivePlanCatalogue;
let keys: KeyService;
let organizations: OrganizationService;
/** Two processes on one database. */
let here: Authenticator;
let there: Authenticator;
let orgId: string;

beforeAll(async () => {
  db = await createTestDatabase();
  other = await createDatabase({ config: db.config, logger });
  plans = await createPlanCatalogue(null);
  keys = createKeyService({ database: db.database });
  organizations = createOrganizationService({ database: db.database, plans });
  here = createAuthenticator({ database: db.database, plans, logger });
  there = createAuthenticator({ database: other, plans, logger });
  orgId = (await organizations.create({ name: 'Acme', planCode: 'pro_monthly' })).id;
});
afterAll(async () => {
  await here.close();
  await there.close();
  await other.close();
  await db.close();
});

const newKey = (expiresAt: Date | null = null) =>
  keys.create({ orgId, name: 'test', scopes: ['chat', 'usage'], expiresAt });

async function refusal(authenticator: Authenticator, header: string | string[] | undefined): Promise<string> {
  const error: unknown = await authenticator.authenticate(header).then(
    () => 'accepted',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) return 'accepted';
  return `${error.status} ${error.code} ${error.message}`;
}

const INVALID = '401 unauthorized Invalid or missing API key';

test.each([
  undefined,
  '',
  'Basic dXNlcjpwYXNz',
  'Bearer',
  'Bearer ',
  `Bearer sk_${'a'.repeat(63)}`,
  `Bearer sk_${'a'.repeat(65)}`,
  `Bearer sk_${'g'.repeat(64)}`,
  `Bearer sk_' OR 1=1; --`,
  `Bearer sk_${'a'.repeat(10_240)}`,
  [`Bearer sk_${'a'.repeat(64)}`, `Bearer sk_${'b'.repeat(64)}`],
  `Bearer sk_${'a'.repeat(64)}, Bearer sk_${'b'.repeat(64)}`,
])('a malformed header (%#) is refused without a query', async (header) => {
  const query = vi.spyOn(db.database.system, 'query');
  expect(await refusal(here, header)).toBe(INVALID);
  expect(query).not.toHaveBeenCalled();
});

test('an unknown key is refused as a malformed one is', async () => {
  expect(await refusal(here, `Bearer sk_${'0'.repeat(64)}`)).toBe(INVALID);
});

test('a key is known by its hash only, shows its first 11 characters, and carries its scopes and plan', async () => {
  const made = await newKey();
  expect(made.key).toMatch(/^sk_[0-9a-f]{64}$/);
  expect(made.prefix).toBe(made.key.slice(0, 11));
  const stored = await db.database.system.query<{ row: string }>(
    'SELECT row_to_json(k)::text AS row FROM api_keys k WHERE id = $1',
    [made.id],
  );
  expect(stored[0]?.row).not.toContain(made.key.slice(11));
  const principal = await here.authenticate(`bearer ${made.key}`);
  expect(principal).toMatchObject({ keyId: made.id, orgId, entitled: true, plan: { code: 'pro_monthly' } });
  expect([...principal.scopes]).toEqual(['chat', 'usage']);
});

test('an expired key says so, also one that expires while it is cached', async () => {
  const past = await newKey(new Date(Date.now() - 1000));
  expect(await refusal(here, `Bearer ${past.key}`)).toBe('401 unauthorized API key has expired');
  const soon = await newKey(new Date(Date.now() + 300));
  expect(await refusal(here, `Bearer ${soon.key}`)).toBe('accepted');
  await sleep(350);
  expect(await refusal(here, `Bearer ${soon.key}`)).toBe('401 unauthorized API key has expired');
});

test('a revoked key is refused on every process, and for ever', async () => {
  const { id, key } = await newKey();
  for (const process of [here, there]) expect(await refusal(process, `Bearer ${key}`)).toBe('accepted');
  const first = await keys.revoke(id);
  for (const process of [here, there]) {
    await expect.poll(() => refusal(process, `Bearer ${key}`)).toBe(INVALID);
  }
  expect(await keys.revoke(id)).toEqual(first);
});

test('open connections hear of a revocation and of an expiry on another process', async () => {
  const revoked = await newKey();
  const expiring = await newKey(new Date(Date.now() + 200));
  const heard: string[] = [];
  there.onInvalidated({ keyId: revoked.id }, () => heard.push('revoked'));
  there.onInvalidated({ keyId: expiring.id }, () => heard.push('expired'));
  const stop = there.onInvalidated({ keyId: revoked.id }, () => heard.push('stopped listening'));
  stop();
  await keys.revoke(revoked.id);
  await expect.poll(() => heard.toSorted(), { timeout: 3000 }).toEqual(['expired', 'revoked']);
});

test('a revocation that no push announced is still heard by open connections', async () => {
  const { id } = await newKey();
  let heard = false;
  here.onInvalidated({ keyId: id }, () => (heard = true));
  await db.database.system.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
  await expect.poll(() => heard, { timeout: 3000 }).toBe(true);
});

test.each([-3_600_000, 3_600_000])(
  'a process whose clock is %i ms off ends keys and subscriptions when the database does',
  async (wrongBy) => {
    const now = Date.now();
    const ending = await organizations.create({ name: 'Ending', planCode: 'pro_monthly' });
    await db.database.system.query(
      `UPDATE organizations SET subscription_status = 'cancelled', subscription_ends_at = $2 WHERE id = $1`,
      [ending.id, new Date(now + 1_000)],
    );
    const { key } = await keys.create({ orgId: ending.id, name: 'test', scopes: ['chat'] });
    const soon = await newKey(new Date(now + 1_000));
    vi.useFakeTimers({ toFake: ['Date'], now: now + wrongBy });
    try {
      expect(await refusal(here, `Bearer ${soon.key}`)).toBe('accepted');
      const before = await here.authenticate(`Bearer ${key}`);
      expect(before.entitled).toBe(true);
      expect((await here.refresh(before)).entitled).toBe(true);
      await sleep(1_200);
      expect(await refusal(here, `Bearer ${soon.key}`)).toBe('401 unauthorized API key has expired');
      expect((await here.authenticate(`Bearer ${key}`)).entitled).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  },
);

test('a clock that is set back does not prolong what a lost push costs', async () => {
  const { id, key } = await newKey();
  expect(await refusal(here, `Bearer ${key}`)).toBe('accepted');
  await db.database.system.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
  const [clock, uptime] = [Date.now(), performance.now()];
  vi.spyOn(Date, 'now').mockReturnValue(clock - 3_600_000);
  vi.spyOn(performance, 'now').mockReturnValue(uptime + 11_000);
  try {
    expect(await refusal(here, `Bearer ${key}`)).toBe('401 unauthorized Invalid or missing API key');
  } finally {
    vi.restoreAllMocks();
  }
});

test('a plan change reaches the cached keys of every process, with a grown version', async () => {
  const { key } = await newKey();
  const before = await there.authenticate(`Bearer ${key}`);
  await organizations.changePlan(orgId, 'business_monthly');
  await expect
    .poll(async () => (await there.authenticate(`Bearer ${key}`)).plan.code)
    .toBe('business_monthly');
  const after = await here.refresh(before);
  expect(after.orgVersion).toBeGreaterThan(before.orgVersion);
});

test('after the end of a cancelled subscription the Free limits hold and the code stays', async () => {
  const { id } = await organizations.create({ name: 'Leaving', planCode: 'pro_monthly' });
  const { key } = await keys.create({ orgId: id, name: 'k', scopes: ['chat'] });
  await organizations.cancel(id);
  expect(await here.authenticate(`Bearer ${key}`)).toMatchObject({
    entitled: true,
    plan: { code: 'pro_monthly' },
  });
  await db.database.system.query(`UPDATE organizations SET subscription_ends_at = now() WHERE id = $1`, [id]);
  await db.database.hints.send('org_changed', id);
  await expect
    .poll(() => here.authenticate(`Bearer ${key}`))
    .toMatchObject({ entitled: false, plan: { code: 'free' }, subscribedPlan: { code: 'pro_monthly' } });
});

test('when a key was used is noted', async () => {
  const { id, key } = await newKey();
  const process = createAuthenticator({ database: db.database, plans, logger });
  await process.authenticate(`Bearer ${key}`);
  await process.close();
  const listed = await keys.list(orgId);
  expect(listed.find((record) => record.id === id)?.lastUsedAt).not.toBeNull();
});
