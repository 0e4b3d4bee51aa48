import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation, type Installation } from '../support/installation.js';
import { startReceiver } from '../support/receiver.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

const CERTIFICATE = fileURLToPath(new URL('../support/fixtures/receiver-cert.pem', import.meta.url));

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation?.close());

const chatting = { messages: [{ role: 'user', content: '@sandbox{"tokens":2}' }] };

test('a stop waits for a receiver that takes its time, whose answer counts', async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const env = { EGRESS_ALLOW: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: CERTIFICATE };
  const server = await spawnPenstock(installation, { env });
  const receiver = await startReceiver((_, response) => {
    setTimeout(() => response.writeHead(204).end(), 7_000);
  });
  try {
    const body = { name: 'slow', url: receiver.url, events: ['chat.message.created'] };
    await server.rest('POST', '/webhooks', { key, body });
    await server.rest('POST', '/chat/completions', { key, body: chatting });
    await eventually(() => receiver.requests.length === 1);
    expect(await server.signal('SIGTERM')).toBe(0);
    const rows = await installation.sql<{ status: string; n: number }>(
      'SELECT status, jsonb_array_length(attempts) AS n FROM webhook_deliveries',
    );
    expect(rows).toEqual([{ status: 'succeeded', n: 1 }]);
  } finally {
    await server.close();
    await receiver.close();
  }
}, 60_000);
