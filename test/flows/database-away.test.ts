import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql, Statement } from '../../src/database/index.js';
import { ApiError } from '../../src/contract/errors.js';
import { createIdempotency } from '../../src/idempotency/index.js';
import { newId } from '../../src/contract/ids.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let wire: Awaited<ReturnType<typeof createCuttable>>;
let server: SpawnedServer;
let key: string;
beforeAll(async () => {
  installation = await createInstallation();
  wire = await createCuttable(installation.databaseUrl);
  server = await spawnPenstock(installation, { env: { DATABASE_URL: wire.url } });
  ({ key } = await installation.createOrg());
});
afterAll(async () => {
  await server.close();
  await wire.close();
  await installation.close();
});

const chat = () =>
  server.rest('POST', '/chat/completions', {
    key,
    body: { messages: [{ role: 'user', content: '@sandbox{"tokens":2}' }] },
  });
const statusOf = async (path: string) => {
  const answer = await server.raw(path, { method: 'GET' });
  await answer.body.dump();
  return answer.statusCode;
};

test('lost connections are a pause, not a failure', async () => {
  expect((await chat()).status).toBe(200);
  for (let n = 0; n < 5; n++) {
    wire.cut();
    wire.mend();
    expect((await chat()).status).toBe(200);
  }
});

test('without PostgreSQL calls wait, then answer 503 with Retry-After; with it again they pass', async () => {
  wire.cut();
  const [call, listed] = await Promise.all([chat(), server.rest('GET', '/jobs', { key })]);
  for (const answer of [call, listed]) {
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.headers['x-ratelimit-limit']).toBeDefined();
  }
  expect(await statusOf('/readyz')).toBe(503);
  expect(await statusOf('/healthz')).toBe(200);
  wire.mend();
  await eventually(async () => (await statusOf('/readyz')) === 200);
  expect((await chat()).status).toBe(200);
  expect(server.output()).not.toContain('unhandled rejection');
});

test('an answer that PostgreSQL is away too long to charge is 503 and free: its retry with the same key is charged once', async () => {
  const own = await installation.createOrg();
  const ask = () =>
    server.rest('POST', '/chat/completions', {
      key: own.key,
      headers: { 'idempotency-key': 'away' },
      body: { messages: [{ role: 'user', content: '@sandbox{"tokens":30,"delay_ms":1500}' }] },
    });
  const ledger = () =>
    installation.sql<{ state: string }>(
      `SELECT state FROM usage_ledger WHERE org_id = $1 AND kind = 'chat' ORDER BY created_at`,
      [own.orgId],
    );
  const asked = ask();
  await eventually(async () => (await ledger()).length === 1);
  wire.cut();
  const cutAt = performance.now();
  expect(await asked).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(performance.now() - cutAt).toBeLessThan(9000);
  wire.mend();
  await eventually(async () => (await ledger())[0]?.state === 'released', { timeoutMs: 20_000 });
  // The key is in flight until its process has told PostgreSQL that it is not.
  await eventually(async () => (await ask()).status === 200, { timeoutMs: 20_000 });
  expect(await ledger()).toEqual([{ state: 'released' }, { state: 'settled' }]);
}, 60_000);

test('who was told 503 is not charged either where PostgreSQL comes back while the charge is on its way', async () => {
  const own = await installation.createOrg();
  const states = async () =>
    (
      await installation.sql<{ state: string }>(
        `SELECT state FROM usage_ledger WHERE org_id = $1 AND kind = 'chat'`,
        [own.orgId],
      )
    ).map(({ state }) => state);
  const body = { messages: [{ role: 'user', content: '@sandbox{"tokens":30,"delay_ms":1500}' }] };
  const asked = server.rest('POST', '/chat/completions', { key: own.key, body });
  await eventually(async () => (await states()).length === 1);
  wire.cut();
  expect(await asked).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  // By now the next attempt waits for its connection.
  await sleep(2_000);
  wire.mend();
  await eventually(async () => !(await states()).includes('reserved'), { timeoutMs: 20_000 });
  expect(await states()).toEqual(['released']);
}, 60_000);

test('a PostgreSQL that takes no work is away: calls are 503, what was under way is finished, nothing stays reserved', async () => {
  const own = await installation.createOrg();
  const database = new URL(installation.databaseUrl).pathname.slice(1);
  const readOnly = async (mode: 'on' | 'off') => {
    await installation.sql(
      `BEGIN READ WRITE; ALTER DATABASE ${database} SET default_transaction_read_only = ${mode}; COMMIT`,
    );
    // Not the one that asks: it would end with some of the others still to be ended.
    await installation.sql(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
      [database],
    );
  };
  const ask = (directive: string) =>
    server.rest('POST', '/chat/completions', {
      key: own.key,
      body: { messages: [{ role: 'user', content: `@sandbox${directive}` }] },
    });
  const body = { prompt: 'a dam @sandbox{"delay_ms":2000}', size: '512x512' };
  const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key: own.key,
    body,
  });
  const underWay = ask('{"tokens":2,"delay_ms":2000}');
  const open = () =>
    installation.sql(`SELECT 1 FROM usage_ledger WHERE org_id = $1 AND state = 'reserved'`, [own.orgId]);
  await eventually(async () => (await open()).length === 2);
  await readOnly('on');
  try {
    expect(await statusOf('/readyz')).toBe(503);
    expect(await ask('{"tokens":2}')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(await underWay).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  } finally {
    await readOnly('off');
  }
  const polled = await server.rest('GET', `/jobs/${job.id}?poll=true`, { key: own.key });
  expect(polled.body).toMatchObject({ status: 'completed' });
  await eventually(async () => (await open()).length === 0, { timeoutMs: 20_000 });
  expect(await statusOf('/readyz')).toBe(200);
}, 60_000);

test('a stream whose end cannot be charged ends with the code of every broken stream', async () => {
  const { events } = await server.events('POST', '/chat/completions', {
    key,
    body: { stream: true, messages: [{ role: 'user', content: '@sandbox{"tokens":10,"chunk_ms":50}' }] },
  });
  await events.next();
  wire.cut();
  let last = '';
  for await (const { data } of events) last = data;
  wire.mend();
  expect(JSON.parse(last)).toMatchObject({ code: 'server_error' });
}, 60_000);

test('live updates go on after their listener was cut off', async () => {
  const body = { prompt: 'a dam @sandbox{"delay_ms":2000}', size: '512x512' };
  const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body,
  });
  const sequences: number[] = [];
  const query = `subscription { jobProgress(id: "${job.id}", after: 0) { sequence type } }`;
  for await (const { data } of server.ws(key).iterate<{ jobProgress: { sequence: number } }>({ query })) {
    sequences.push(data!.jobProgress.sequence);
    if (sequences.length === 3) {
      wire.cut();
      wire.mend();
    }
  }
  expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  expect(sequences.length).toBeGreaterThan(3);
});

test('a key whose first request lost the database as it was given it serves the next one', async () => {
  const { orgId, key: own } = await installation.createOrg();
  const headers = { 'idempotency-key': 'lost' };
  const ask = () =>
    server.rest('POST', '/chat/completions', {
      key: own,
      headers,
      body: { messages: [{ role: 'user', content: '@sandbox{"tokens":2}' }] },
    });
  const rows = () =>
    installation.sql<{ process_id: string }>('SELECT process_id FROM idempotency_keys WHERE org_id = $1', [
      orgId,
    ]);
  // Whoever asks for the key waits for us.
  const holder = new pg.Client(installation.databaseUrl);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(
    `INSERT INTO idempotency_keys (id, org_id, key, fingerprint) VALUES ('held', $1, 'lost', '')`,
    [orgId],
  );
  const lost = ask();
  await eventually(
    async () =>
      (
        await installation.sql(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%idempotency_begin%'`,
        )
      ).length > 0,
  );
  wire.swallow();
  await holder.query('ROLLBACK');
  await holder.end();
  await eventually(async () => (await rows()).length === 1);
  wire.cut();
  wire.mend();
  expect(await lost).toMatchObject({ status: 503 });
  await eventually(async () => (await ask()).status === 200);
});

test('an answer whose key cannot be written for long is kept as soon as the database answers', async () => {
  const { orgId } = await installation.createOrg();
  let refusals = 12;
  const query: Sql['query'] = async (statement, values) => {
    const { name, text } = statement as Statement;
    if (name === 'idempotency_finish' && refusals-- > 0)
      throw new ApiError('unavailable', 'Service temporarily unavailable');
    return await installation.sql(text, values);
  };
  const service = createIdempotency({
    database: { system: { query } },
    storage: { fault: () => Promise.resolve(null) },
    processId: newId('prc'),
    logger: pino({ level: 'silent' }),
    signing: { current: 'a secret', previous: null },
    retryMs: 1,
  });
  const call = {
    principal: { orgId, scopes: new Set(), plan: { storage: { maxMb: -1 } } },
  } as unknown as CallContext;
  const place = { method: 'POST', path: '/x', query: '', body: Buffer.from('{}'), singleEffect: true };
  const request = { call, key: 'long away', ...place };
  const first = await service.begin(request);
  if (first.kind !== 'run') throw new Error(first.kind);
  await first.run.finish({ status: 200, headers: {}, body: Buffer.from('done') });
  await eventually(async () => (await service.begin(request)).kind === 'replay');
  await service.close();
});
