import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { eventually } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';

const CERTIFICATE = new URL('../support/fixtures/receiver-cert.pem', import.meta.url).pathname;
/** Sweeps come every minute. */
const A_SWEEP = { timeoutMs: 90_000, everyMs: 250 };
let cluster: Cluster;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  const env = {
    EGRESS_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: CERTIFICATE,
    SIGNING_SECRET: 'the old one',
  };
  cluster = await startCluster([], { env });
});
afterAll(async () => {
  await cluster?.close();
  await receiver?.close();
});

interface Tested {
  webhook: { id: string };
  delivery: { status: string };
}

test('webhooks’ secrets are sealed under a new signing secret only when nobody lives who cannot open them then', async () => {
  const { installation } = cluster;
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const old = await cluster.add({ role: 'api' });
  const body = { name: 'h', url: receiver.url, events: ['generation.completed'] };
  const { id } = (await old.rest<Tested>('POST', '/webhooks', { key, body })).body.webhook;
  const tested = async (server = old) => {
    const answer = await server.rest<Tested>('POST', `/webhooks/${id}/test`, { key });
    return { status: answer.status, delivery: answer.body.delivery?.status };
  };
  const works = { status: 200, delivery: 'succeeded' };
  expect(await tested()).toEqual(works);

  const secret = { SIGNING_SECRET: 'the new one' };
  const changed = await cluster.add({
    role: 'worker',
    env: { ...secret, SIGNING_SECRET_PREVIOUS: 'the old one' },
  });
  // A sweep forgets old events, after it has looked at the secrets.
  await installation.sql(`UPDATE webhook_events SET created_at = now() - interval '99 days'`);
  const events = () => installation.sql('SELECT 1 FROM webhook_events');
  await eventually(async () => (await events()).length === 0, { ...A_SWEEP, what: 'a sweep' });
  expect(await tested()).toEqual(works);

  const sealed = () => installation.sql<{ secret: Buffer }>('SELECT secret FROM webhooks');
  const [before] = await sealed();
  await old.signal('SIGTERM');
  const isAnew = async () => !(await sealed())[0]!.secret.equals(before!.secret);
  await eventually(isAnew, { ...A_SWEEP, what: 'a seal anew' });
  await changed.signal('SIGTERM');
  expect(await tested(await cluster.add({ env: secret }))).toEqual(works);
});
