import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';

const TRUSTED_MS = 100;
const SOCKET_MS = 1000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, { role: 'api' }, { role: 'all' }]);
});
afterAll(() => cluster?.close());

interface Seen {
  /** When the request was sent, performance.now(). */
  sentAt: number;
  status: number;
}

test('no process accepts a key later than 100 ms after its revocation was answered, and its sockets close within a second', async () => {
  const { key, keyId } = await cluster.installation.createOrg();
  const other = await cluster.installation.createOrg();
  let loading = true;
  const seen: Seen[] = [];
  const load = async (server: number): Promise<void> => {
    while (loading) {
      const sentAt = performance.now();
      const answer = await cluster.servers[server]?.rest('GET', '/models?type=tts', { key });
      seen.push({ sentAt, status: answer?.status ?? 0 });
    }
  };
  const loads = inParallel(
    Array.from({ length: 24 }, (_, index) => index % cluster.servers.length),
    24,
    load,
  );
  const closings = cluster.servers.map(
    (server) =>
      new Promise<{ code: number; at: number }>((resolve) => {
        const client = server.ws(key);
        client.on('closed', (event) =>
          resolve({ code: (event as { code: number }).code, at: performance.now() }),
        );
        client.subscribe(
          { query: 'subscription { jobUpdates { sequence } }' },
          { next: () => undefined, error: () => undefined, complete: () => undefined },
        );
      }),
  );
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(50);

  await cluster.installation.cli('key', 'revoke', '--id', keyId);
  const revokedAt = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  loading = false;
  await loads;

  const late = seen.filter(({ sentAt, status }) => sentAt > revokedAt + TRUSTED_MS && status < 400);
  expect(late).toEqual([]);
  expect(seen.some(({ sentAt }) => sentAt > revokedAt + TRUSTED_MS)).toBe(true);
  // Refused keys count against their address: after some thirty, which may all come at once, its refusals are 429.
  expect(seen.some(({ status }) => status === 401)).toBe(true);
  for (const closing of await Promise.all(closings)) {
    expect(closing.code).toBe(4401);
    expect(closing.at - revokedAt).toBeLessThan(SOCKET_MS);
  }
  expect((await cluster.next().rest('GET', '/quota', { key: other.key })).status).toBe(200);
});
