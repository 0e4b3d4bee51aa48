import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEvents } from '../support/client.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { balancesOf, Fold, UPDATE_FIELDS } from '../support/usage-fold.js';
import type { Update } from '../support/usage-fold.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let other: TestServer;
beforeAll(async () => {
  server = await startPenstock();
  other = await startPenstock({ installation: server.installation, role: 'api' });
});
afterAll(async () => {
  await other?.close();
  await server.close();
});

const updatesAfter = (after?: number) =>
  `subscription { usageUpdates${after === undefined ? '' : `(after: ${after})`} { ${UPDATE_FIELDS} } }`;

interface Reading {
  key: string;
  query: string;
  /** How many items are read. */
  take: number;
  from?: TestServer;
}

async function read<Item>({ key, query, take, from = server }: Reading): Promise<Item[]> {
  const client = from.ws(key);
  const items: Item[] = [];
  for await (const { data, errors } of client.iterate<Record<string, Item>>({ query })) {
    if (errors) throw new Error(errors[0]?.message);
    items.push(Object.values(data ?? {})[0] as Item);
    if (items.length >= take) break;
  }
  await client.dispose();
  return items;
}

/** The same over Server-Sent Events. */
async function readSse({ key, query, take, from = server }: Reading): Promise<Update[]> {
  const hangUp = new AbortController();
  const response = await fetch(from.graphqlUrl, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ query }),
    signal: hangUp.signal,
  });
  expect(response.status).toBe(200);
  const items: Update[] = [];
  for await (const { event, data } of readEvents(response.body as unknown as AsyncIterable<Buffer>)) {
    if (event !== 'next') continue;
    items.push((JSON.parse(data) as { data: { usageUpdates: Update } }).data.usageUpdates);
    if (items.length >= take) break;
  }
  hangUp.abort();
  return items;
}

const chat = (key: string, content = 'Hello', from = server) =>
  from.rest('POST', '/chat/completions', { key, body: { messages: [{ role: 'user', content }] } });

/** An organisation that has used, failed, topped up, set and changed its plan. */
async function busyOrg() {
  const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
  await chat(key);
  await chat(key, '@sandbox{"fail":"no luck"}');
  const image = { prompt: 'a weir', size: '512x512' };
  expect((await server.rest('POST', '/images/generations', { key, body: image })).status).toBe(200);
  await server.services.metering.topUp(orgId, 'credits', 500);
  await server.services.metering.setUsed(orgId, 'music_tracks', 200);
  await server.services.organizations.changePlan(orgId, 'business_monthly');
  await chat(key, 'again', other);
  const told = await balancesOf(server.installation, orgId);
  return { key, orgId, ...told };
}

test('all updates from the first on, added up, are every balance, on any process and over both transports', async () => {
  const { key, last, balances } = await busyOrg();
  expect(last).toBeGreaterThan(6);
  for (const [from, reader] of [
    [server, read<Update>],
    [other, readSse],
  ] as const) {
    const items = await reader({ key, query: updatesAfter(0), take: last, from });
    const fold = new Fold();
    for (const item of items) fold.take(item);
    expect(fold.last).toBe(last);
    expect(fold.balances()).toEqual(balances);
    const types = new Set(items.map(({ type }) => type));
    expect(types).toEqual(new Set(['period', 'operation', 'top_up', 'adjustment']));
    expect(items.filter(({ record }) => record === null).every(({ type }) => type === 'period')).toBe(true);
  }
});

test('a reader goes on after the last sequence that it has, and hears what happens on another process', async () => {
  const { key, last } = await busyOrg();
  const all = await read<Update>({ key, query: updatesAfter(0), take: last });
  expect(await read({ key, query: updatesAfter(3), take: last - 3, from: other })).toEqual(all.slice(3));
  const coming = read<Update>({ key, query: updatesAfter(last), take: 2 });
  await chat(key, 'one', other);
  await chat(key, 'two', other);
  const sequences = (await coming).map(({ sequence, type }) => ({ sequence, type }));
  expect(sequences).toEqual([
    { sequence: last + 1, type: 'operation' },
    { sequence: last + 2, type: 'operation' },
  ]);
});

test('without after the first update is the last one that there is; beyond it there is nothing to wait for', async () => {
  const { key, last } = await busyOrg();
  const [first] = await read<Update>({ key, query: updatesAfter(), take: 1 });
  expect(first?.sequence).toBe(last);
  for (const after of [last + 1, -1])
    await expect(read({ key, query: updatesAfter(after), take: 1 })).rejects.toMatchObject([
      { extensions: { code: 'invalid_request', httpStatus: 400, param: 'after' } },
    ]);
});

test("nobody sees another organisation's usage, nor any without the scope", async () => {
  const { last } = await busyOrg();
  const { key, orgId } = await server.createOrg();
  await chat(key);
  const mine = await balancesOf(server.installation, orgId);
  expect(mine.last).toBeLessThan(last);
  const items = await read<Update>({ key, query: updatesAfter(0), take: mine.last });
  const fold = new Fold();
  for (const item of items) fold.take(item);
  expect(fold.balances()).toEqual(mine.balances);
  const { key: without } = await server.createKey(orgId, { scopes: ['chat'] });
  for (const query of [updatesAfter(0), 'subscription { quotaUpdates { orgId } }'])
    await expect(read({ key: without, query, take: 1 })).rejects.toMatchObject([
      { extensions: { code: 'forbidden' } },
    ]);
});

interface QuotaItem {
  plan: { code: string };
  quotas: { bucket: string; used: number; limit: number }[];
}

test('quotaUpdates begins with the quota, and tells it again when it has moved, from any process', async () => {
  const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
  const client = server.ws(key);
  const items: QuotaItem[] = [];
  const reading = (async () => {
    const query = 'subscription { quotaUpdates { plan { code } quotas { bucket used limit } } }';
    for await (const { data } of client.iterate<{ quotaUpdates: QuotaItem }>({ query }))
      items.push(data!.quotaUpdates);
  })().catch(() => undefined);
  const credits = ({ quotas }: QuotaItem) => quotas.find(({ bucket }) => bucket === 'credits')!;
  await eventually(() => items.length > 0, { what: 'the first quota' });
  const [first] = items;
  expect(credits(first!)).toMatchObject({ used: 0 });
  await chat(key, 'Hello', other);
  await eventually(() => credits(items.at(-1)!).used === 1, { what: 'the charge' });
  await other.services.metering.topUp(orgId, 'credits', 500);
  await eventually(() => credits(items.at(-1)!).limit === credits(first!).limit + 5, { what: 'the top-up' });
  await other.services.organizations.changePlan(orgId, 'business_monthly');
  await eventually(() => items.at(-1)!.plan.code === 'business_monthly', { what: 'the plan' });
  await client.dispose();
  await reading;
});

test('subscriptions leave nothing behind', async () => {
  const hubs = [server, other].map(({ services }) => services.usageEvents as unknown as { size: number });
  await eventually(() => hubs.every(({ size }) => size === 0), { what: 'the end of every subscription' });
});
