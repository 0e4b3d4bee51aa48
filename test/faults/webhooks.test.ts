import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver, type ReceivedRequest } from '../support/receiver.js';
import { eventually, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const EVENTS = scaled(10_000, 200);
const DELAYS = [0, 300, 600, 900, 1_200];
const CERTIFICATE = new URL('../support/fixtures/receiver-cert.pem', import.meta.url).pathname;

let cluster: Cluster;
beforeAll(async () => {
  const env = {
    EGRESS_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: CERTIFICATE,
    WEBHOOK_RETRY_DELAYS_MS: DELAYS.join(','),
  };
  cluster = await startCluster([{ role: 'api' }, { role: 'worker' }, { role: 'worker' }], { env });
});
afterAll(() => cluster?.close());

interface Hook {
  id: string;
  secret: string;
}

async function register(key: string, url: string): Promise<Hook> {
  const body = { name: 'h', url, events: ['generation.completed'] };
  const answer = await cluster.servers[0]!.rest<{ webhook: Hook }>('POST', '/webhooks', { key, body });
  expect(answer.status).toBe(200);
  return answer.body.webhook;
}

/** Events as a worker's moves write them, some at a time. */
async function emit(orgId: string, count: number): Promise<void> {
  await cluster.installation.sql(
    `SELECT penstock_emit('events', $1, penstock_event('generation.completed', $1, jsonb_build_object('n', n))) FROM generate_series(1, $2::int) n`,
    [orgId, count],
  );
}

const statuses = async (orgId: string): Promise<Record<string, number>> => {
  const rows = await cluster.installation.sql<{ status: string; n: string }>(
    'SELECT status, count(*) AS n FROM webhook_deliveries WHERE org_id = $1 GROUP BY status',
    [orgId],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, Number(n)]));
};

test(`${EVENTS} events to a receiver that fails the first two attempts of each all arrive, with one id on every attempt and after the delays`, async () => {
  const attempts = new Map<string, number[]>();
  let answered = 0;
  const receiver = await startReceiver((request, response) => {
    const id = String(request.headers['x-service-event-id']);
    const times = attempts.get(id) ?? [];
    times.push(request.at);
    attempts.set(id, times);
    // Successes between: an event of the first batch of all is taken at once, so that the failures are not consecutive.
    // Every fourth: of two workers that take turns one may see failures only, ten before it hears of the other's success.
    const fails = times.length <= 2 && answered++ % 4 !== 3;
    response.writeHead(fails ? 500 : 204).end();
  });
  try {
    const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
    await register(key, receiver.url);
    for (let sent = 0; sent < EVENTS; sent += 100) {
      await emit(orgId, Math.min(100, EVENTS - sent));
      await sleep(50);
    }
    await eventually(async () => (await statuses(orgId))['succeeded'] === EVENTS, {
      timeoutMs: 60_000 + EVENTS * 40,
      everyMs: 500,
      what: 'all deliveries',
    }).catch(async (error: unknown) => {
      const [hook] = await cluster.installation.sql(
        'SELECT enabled, consecutive_failures FROM webhooks WHERE org_id = $1',
        [orgId],
      );
      throw new Error(`${String(error)}: ${JSON.stringify([await statuses(orgId), hook])}`);
    });
    expect(attempts.size).toBe(EVENTS);
    const gaps = [...attempts.values()].flatMap((times) =>
      times.slice(1).map((at, index) => at - times[index]! - DELAYS[index + 1]!),
    );
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(-25);
    const twice = [...attempts.values()].filter((times) => times.length > 3).length;
    record({ promise: 9, events: EVENTS, arrived: attempts.size, moreThanThreeAttempts: twice });
  } finally {
    await receiver.close();
  }
}, 1_800_000);

test('at random failure each event arrives or is failed, and arrives by re-enabling and recover; the tenth failure in a row disables exactly', async () => {
  const random = seededRandom(9);
  const arrived = new Set<string>();
  let rate = 0.8;
  const receiver = await startReceiver((request, response) => {
    const ok = random() >= rate;
    if (ok) arrived.add(String(request.headers['x-service-event-id']));
    response.writeHead(ok ? 200 : 503).end();
  });
  try {
    const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
    const hook = await register(key, receiver.url);
    const count = scaled(1_000, 100);
    const since = new Date(Date.now() - 60_000).toISOString();
    await emit(orgId, count);
    const api = cluster.servers[0]!;
    await sleep(5_000);
    rate = 0;
    await eventually(
      async () => {
        await api.rest('PATCH', `/webhooks/${hook.id}`, { key, body: { enabled: true } });
        await api.rest('POST', `/webhooks/${hook.id}/recover`, { key, body: { since } });
        return (await statuses(orgId))['succeeded'] === count;
      },
      { timeoutMs: 120_000, everyMs: 1_000, what: 'all events after recover' },
    );
    expect(arrived.size).toBe(count);

    const dead = await startReceiver((_, response) => response.writeHead(500).end());
    const other = await register(key, dead.url);
    await emit(orgId, 1);
    await emit(orgId, 1);
    const disabled = await eventually(async () => {
      const { body } = await api.rest<{ webhook: { enabled: boolean; consecutive_failures: number } }>(
        'GET',
        `/webhooks/${other.id}`,
        { key },
      );
      return !body.webhook.enabled && body.webhook;
    });
    expect(disabled.consecutive_failures).toBe(10);
    expect(dead.requests).toHaveLength(10);
    await dead.close();
    record({
      promise: '9b',
      events: count,
      arrived: arrived.size,
      disabledAt: disabled.consecutive_failures,
    });
  } finally {
    await receiver.close();
  }
}, 600_000);

/** The documented check: the hex HMAC of `<timestamp>:<raw body>` under the whole secret, in this header. */
function isSignedBy(request: ReceivedRequest, header: string, secret: string): boolean {
  const timestamp = String(request.headers['x-service-timestamp']);
  const expected = createHmac('sha256', secret).update(`${timestamp}:${request.body}`).digest('hex');
  return request.headers[header] === expected;
}

const NEXT = 'x-service-signature-next';

test('a secret is rotated under load, and a receiver that holds either secret as documented can verify every delivery', async () => {
  const receiver = await startReceiver();
  try {
    const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
    const hook = await register(key, receiver.url);
    const api = cluster.servers[0]!;
    const overlapMs = 2_000;
    const count = scaled(2_000, 200);
    let sent = 0;
    const load = (async () => {
      for (; sent < count; sent += 10) {
        await emit(orgId, 10);
        await sleep(Math.min(60, 12_000 / (count / 10)));
      }
    })();
    /** From `askedAt` on the old secret's holder may change over, at the latest at `endsAt`; from `answeredAt` the new one is held. */
    const rotations: { secret: string; askedAt: number; answeredAt: number; endsAt: number }[] = [];
    while (sent < count && rotations.length < 4) {
      const askedAt = Date.now();
      const answer = await api.rest<{ webhook: Hook }>('POST', `/webhooks/${hook.id}/rotate-secret`, {
        key,
        body: { overlap_seconds: overlapMs / 1000 },
      });
      expect(answer.status).toBe(200);
      rotations.push({
        secret: answer.body.webhook.secret,
        askedAt,
        answeredAt: Date.now(),
        endsAt: askedAt + overlapMs,
      });
      await sleep(overlapMs + 500);
    }
    await load;
    await eventually(async () => (await statuses(orgId))['succeeded'] === sent, { timeoutMs: 60_000 });
    const unverified = { oldHeld: 0, newHeld: 0 };
    let withBoth = 0;
    for (const request of receiver.requests) {
      if (request.headers[NEXT] !== undefined) withBoth += 1;
      const secretAt = (moment: 'answeredAt' | 'endsAt'): string =>
        rotations.findLast((rotation) => rotation[moment] <= request.at)?.secret ?? hook.secret;
      // One that changes over as late as it may reads `x-service-signature` with the secret that it still holds.
      if (!isSignedBy(request, 'x-service-signature', secretAt('endsAt'))) unverified.oldHeld += 1;
      // One that changes over with the answer reads the new header where there is one.
      const header = request.headers[NEXT] === undefined ? 'x-service-signature' : NEXT;
      const early = secretAt('answeredAt');
      const asked = rotations.some(
        ({ askedAt, answeredAt }) => request.at >= askedAt && request.at < answeredAt,
      );
      if (
        !isSignedBy(request, header, early) &&
        !(asked && isSignedBy(request, 'x-service-signature', early))
      )
        unverified.newHeld += 1;
    }
    expect(withBoth).toBeGreaterThan(0);
    expect(rotations.length).toBeGreaterThan(1);
    // The very moment of the end is decided by the database's clock; what was signed just before it may arrive just after.
    expect(unverified.newHeld).toBe(0);
    const atAnEnd = receiver.requests.filter(({ at }) =>
      rotations.some(
        ({ endsAt, answeredAt, askedAt }) => at >= endsAt && at < endsAt + (answeredAt - askedAt) + 100,
      ),
    ).length;
    expect(unverified.oldHeld).toBeLessThanOrEqual(atAnEnd);
    record({ promise: 11, deliveries: receiver.requests.length, withBoth, ...unverified, atAnEnd });
  } finally {
    await receiver.close();
  }
}, 300_000);
