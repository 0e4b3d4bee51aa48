import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';
import { inParallel } from '../support/wait.js';
import { record, scaled } from './scale.js';

const CYCLES = scaled(100_000, 2_000);
const WIDTH = 16;
const MANY = 1_000_000;
/** The key's windows would end a test of the heap. */
const PLANS = {
  plans: {
    business_monthly: {
      rate: { rpm: MANY, burst: MANY },
      streams: { perMinute: MANY, held: MANY, heldByOrganization: MANY },
    },
  },
};

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock({ plans: PLANS });
});
afterAll(() => server?.close());

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

test(`${CYCLES} subscriptions opened and ended leave nothing behind`, async () => {
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  const job = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: 'a mill @sandbox{"delay_ms": 600000}', size: '512x512' },
  });
  const query = 'subscription ($id: ID!) { jobProgress(id: $id) { sequence } }';
  const sockets = Array.from({ length: 4 }, () => server.ws(key));
  const cycle = async (index: number): Promise<void> => {
    const items = sockets[index % sockets.length]!.iterate({ query, variables: { id: job.body.id } });
    await items.next();
    await items.return?.();
  };
  const run = (count: number) => inParallel(Array.from({ length: count }), WIDTH, (_, index) => cycle(index));
  await run(Math.min(5_000, Math.ceil(CYCLES / 2)));
  const before = heapAfterCollection();
  await run(CYCLES);
  const after = heapAfterCollection();
  await server.rest('DELETE', `/jobs/${job.body.id}`, { key });
  const metrics = await (await server.raw('/metrics', { method: 'GET' })).body.text();
  expect(metrics).toMatch(/^penstock_subscriptions_open\{role="all"\} 0$/m);
  expect(after / before).toBeLessThan(1.05);
  record({ promise: 16, cycles: CYCLES, heapBefore: before, heapAfter: after });
}, 3_600_000);
