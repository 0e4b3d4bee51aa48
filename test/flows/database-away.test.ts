import { afterAll, beforeAll, expect, test } from 'vitest';
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
