import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver, type ReceivedRequest } from '../support/receiver.js';
import { eventually } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record } from './scale.js';

const CERTIFICATE = new URL('../support/fixtures/receiver-cert.pem', import.meta.url).pathname;
const EACH = 3;
let cluster: Cluster;

beforeAll(async () => {
  const env = { EGRESS_ALLOW: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: CERTIFICATE };
  cluster = await startCluster([{ role: 'api' }], { env });
});
afterAll(() => cluster?.close());

interface Shown {
  webhook: { id: string; enabled: boolean; consecutive_failures: number };
  deliveries: { status: string; attempts: unknown[] }[];
}

test('what a killed worker and a stopped one had in flight is sent again by another, and the stopped one changes nothing when it wakes up', async () => {
  const held: { request: ReceivedRequest; response: ServerResponse }[] = [];
  let holds = true;
  const receiver = await startReceiver((request, response) => {
    if (holds) held.push({ request, response });
    else response.writeHead(204).end();
  });
  try {
    const { installation, servers } = cluster;
    const { key, orgId } = await installation.createOrg({ plan: 'business_monthly' });
    const api = servers[0]!;
    const body = { name: 'h', url: receiver.url, events: ['generation.completed'] };
    const { webhook } = (await api.rest<Shown>('POST', '/webhooks', { key, body })).body;
    const path = `/webhooks/${webhook.id}`;
    const emit = () =>
      installation.sql(
        `SELECT penstock_emit('events', $1, penstock_event('generation.completed', $1, '{}')) FROM generate_series(1, $2::int)`,
        [orgId, EACH],
      );

    const stopped = await cluster.add({ role: 'worker' });
    await emit();
    await eventually(() => held.length === EACH);
    stopped.pause();
    const killed = await cluster.add({ role: 'worker' });
    await emit();
    await eventually(() => held.length === 2 * EACH);
    await killed.signal('SIGKILL');
    servers.splice(servers.indexOf(killed), 1);
    // The answers that nobody reads: the killed one's connections are gone, the stopped one's wait for it as failures.
    for (const { response } of held) response.writeHead(500).end();
    holds = false;

    await cluster.add({ role: 'worker' });
    await emit();
    const succeeded = async () =>
      (await api.rest<Shown>('GET', `${path}/deliveries?status=succeeded`, { key })).body.deliveries;
    await eventually(async () => (await succeeded()).length === 3 * EACH, {
      timeoutMs: 90_000,
      everyMs: 500,
      what: 'all deliveries, two thirds of them after their claims were over',
    });
    const before = await api.rest<Shown>('GET', path, { key });
    expect(before.body.webhook).toMatchObject({ enabled: true, consecutive_failures: 0 });
    stopped.resume();
    await emit();
    await eventually(async () => (await succeeded()).length === 4 * EACH, { timeoutMs: 30_000 });
    // The woken one has taken part again, or at least has had the time to write what it held.
    await stopped.signal('SIGTERM');
    servers.splice(servers.indexOf(stopped), 1);
    const after = await api.rest<Shown>('GET', path, { key });
    expect(after.body.webhook).toMatchObject({ enabled: true, consecutive_failures: 0 });
    for (const { attempts } of await succeeded()) expect(attempts).toHaveLength(1);
    const ids = receiver.requests.map((request) => String(request.headers['x-service-event-id']));
    expect(new Set(ids).size).toBe(4 * EACH);
    record({ promise: 9, workers: 'killed and stopped', events: 4 * EACH, requests: ids.length });
  } finally {
    await receiver.close();
  }
}, 240_000);
