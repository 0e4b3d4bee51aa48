import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../support/server.js';
import { startPenstock } from '../support/server.js';
import type { TestOrg } from '../support/installation.js';
import { writeLedger } from '../support/usage.js';
import type { LedgerRow } from '../support/usage.js';

let server: TestServer;
let org: TestOrg;

const AT = Date.parse('2026-10-31T12:00:00Z');
const MANY = 1_200;

/** What spreadsheets calculate, and what CSV has to quote. */
const HOSTILE = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1+1',
  'a "quoted", one',
  'two\nlines',
  'plain',
];

const rowOf = (at: number): LedgerRow => ({
  settledAt: new Date(AT + at * 1000),
  endUser: HOSTILE[at % HOSTILE.length]!,
  clientName: HOSTILE[(at + 1) % HOSTILE.length]!,
  tags: at % 2 === 0 ? ['blue', 'red'] : [],
  model: 'maker/a',
  provider: 'maker',
  tokens: [100, 40, 0, 50, 20],
  costNano: at === 3 ? null : '1500000',
  charged: [300, 15_000, 0, 0, 0, 0, 0, 0, 0],
  latencyMs: 1_000,
});

beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg();
  await server.rest('POST', '/embeddings', {
    key: org.key,
    body: { input: 'a', model: 'sandbox/embedding' },
  });
  await server.installation.sql('DELETE FROM usage_ledger WHERE org_id = $1', [org.orgId]);
  const rows = Array.from({ length: MANY }, (_, at) => ({ ...rowOf(at), keyId: org.keyId }));
  await writeLedger(server.services.database, org.orgId, rows);
});
afterAll(() => server.close());

const get = async (path: string, key = org.key) => {
  const answer = await server.raw(`/api/v1${path}`, {
    method: 'GET',
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
};

describe('GET /usage/export', () => {
  it('is a CSV of all records, newest first, in which a spreadsheet finds no formula', async () => {
    const { status, headers, text } = await get('/usage/export');
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'attachment; filename="usage.csv"',
    ]);
    const rows = parse(text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[];
    expect(rows).toHaveLength(MANY);
    for (const [index, row] of rows.entries()) {
      const original = HOSTILE[(MANY - 1 - index) % HOSTILE.length]!;
      expect(row['end_user']).toBe(/^[=+\-@\t\r\n＝＋－＠]/.test(original) ? `'${original}` : original);
      for (const cell of Object.values(row)) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
    }
    expect(rows.at(-1)).toMatchObject({
      operation: 'chat',
      status: 'succeeded',
      key_id: org.keyId,
      tags: 'blue,red',
      input_tokens: '100',
      cached_input_tokens: '40',
      reasoning_tokens: '20',
      cost_usd: '0.0015',
      credits: '3',
      chat_tokens: '150',
      created_at: '2026-10-31T12:00:00.000Z',
    });
    expect(rows.at(-4)).toMatchObject({ cost_usd: '' });
  });

  it('is one JSON object a line, texts as they are', async () => {
    const { status, headers, text } = await get(
      '/usage/export?format=jsonl&tags=red&until=2026-10-31T12:00:10Z',
    );
    expect([status, headers['content-type']]).toEqual([200, 'application/jsonl; charset=utf-8']);
    const rows = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(5);
    expect(rows.at(-1)).toMatchObject({
      end_user: '=1+1',
      tags: ['blue', 'red'],
      cost_usd: '0.0015',
      credits: 3,
    });
  });

  it('has the names of the columns where there is nothing', async () => {
    const { text } = await get('/usage/export?models=none');
    expect(text).toMatch(/^id,operation,.*\r\n$/);
  });

  it('holds no more than a part of the file at once', async () => {
    const pieces = server.services.usage.export({ orgId: org.orgId, filter: {}, format: 'jsonl' });
    const sizes: number[] = [];
    for await (const piece of pieces) sizes.push(piece.split('\n').length - 1);
    expect(sizes).toEqual([500, 500, 200]);
  });

  it.each<[string, string]>([
    ['format=xml', 'format'],
    ['since=yesterday', 'since'],
    ['since=2026-11-01T00:00:00Z&until=2026-10-01T00:00:00Z', 'until'],
    ['operations=dance', 'operations'],
    [`end_users=${'a'.repeat(301)}`, 'end_users'],
    ['statuses=won', 'statuses'],
  ])('is a 400 for %s', async (query, param) => {
    const answer = await server.rest('GET', `/usage/export?${query}`, { key: org.key });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
  });
});

describe('GET /usage/records', () => {
  it('lists records in the contract’s spelling, page by page', async () => {
    const first = await server.rest<{ records: object[]; next_cursor: string }>(
      'GET',
      '/usage/records?limit=2&end_users=plain',
      {
        key: org.key,
      },
    );
    expect(first.body.records).toHaveLength(2);
    expect(first.body.records[0]).toMatchObject({
      key_id: org.keyId,
      end_user: 'plain',
      tokens: { input: 100, cached_input: 40, cache_write: 0, output: 50, reasoning: 20 },
      cost_usd: '0.0015',
      amounts: { credits: 3, chat_tokens: 150 },
      granted: {},
    });
    const path = `/usage/records?limit=100&end_users=plain&cursor=${first.body.next_cursor}`;
    const second = await server.rest<{ records: object[] }>('GET', path, { key: org.key });
    expect(second.body.records).toHaveLength(100);
    expect(second.body.records).not.toContainEqual(first.body.records[1]);
  });

  it('reads a list from commas and from repetition; an end user may have a comma', async () => {
    const count = async (query: string) =>
      (await server.rest<{ records: object[] }>('GET', `/usage/records?limit=100&${query}`, { key: org.key }))
        .body.records.length;
    expect(await count('operations=chat,image')).toBe(100);
    expect(await count('operations=image&operations=chat')).toBe(100);
    expect(await count(`end_users=${encodeURIComponent('a "quoted", one')}`)).toBe(100);
  });
});

describe('GET /usage/summary', () => {
  const summary = (query: string, key = org.key) =>
    server.rest<{ rows: Record<string, unknown>[] }>('GET', `/usage/summary?${query}`, { key });

  it('adds up what the workers have folded', async () => {
    const path =
      'since=2026-10-31T00:00:00Z&until=2026-11-01T00:00:00Z&interval=day&group_by=key,status&time_zone=Asia/Kolkata';
    await expect
      .poll(async () => (await summary(path)).body.rows[0]?.['requests'], { timeout: 60_000, interval: 500 })
      .toBe(MANY);
    expect((await summary(path)).body.rows).toEqual([
      {
        start: '2026-10-30T18:30:00.000Z',
        model: null,
        provider: null,
        key_id: org.keyId,
        end_user: null,
        tag: null,
        operation: null,
        status: 'succeeded',
        requests: MANY,
        errors: 0,
        tokens: { input: 120_000, cached_input: 48_000, cache_write: 0, output: 60_000, reasoning: 24_000 },
        cost_usd: '1.7985',
        unpriced: 1,
        amounts: { credits: 3_600, chat_tokens: 180_000 },
        latency_ms: { p50: expect.closeTo(1_000, -2), p95: expect.closeTo(1_000, -2) },
      },
    ]);
  }, 90_000);

  it('knows an end user by the contract’s word', async () => {
    const path = 'since=2026-10-31T00:00:00Z&until=2026-11-01T00:00:00Z&interval=month&group_by=end_user';
    const { rows } = (await summary(path)).body;
    expect(rows.map((row) => row['end_user'])).toEqual(HOSTILE.toSorted());
  });

  it.each<[string, string]>([
    ['since=today', 'since'],
    ['since=2026-10-31T00:00:00Z&interval=year', 'interval'],
    ['since=2026-10-31T00:00:00Z&interval=day&group_by=shoe_size', 'group_by'],
    ['since=2026-10-31T00:00:00Z&interval=day&group_by=model,key,tag', 'group_by'],
    ['since=2026-10-31T00:00:00Z&interval=day&time_zone=Mars', 'time_zone'],
  ])('is a 400 for %s', async (query, param) => {
    expect(await summary(query)).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
  });

  it('needs the scope usage', async () => {
    const { key } = await server.createKey(org.orgId, { scopes: ['chat'] });
    expect(await summary('since=2026-10-31T00:00:00Z&interval=day', key)).toMatchObject({ status: 403 });
  });
});
