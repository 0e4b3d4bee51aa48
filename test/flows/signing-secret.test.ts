import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInstallation, type Installation } from '../support/installation.js';
import { startReceiver, trustReceivers, type Receiver } from '../support/receiver.js';
import { startPenstock, type TestServer } from '../support/server.js';

type Secrets = [current: string, previous?: string];

let installation: Installation;
let receiver: Receiver;
let key: string;
beforeAll(async () => {
  trustReceivers();
  receiver = await startReceiver();
  installation = await createInstallation();
  ({ key } = await installation.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await receiver?.close();
  await installation?.close();
});

/** Processes of one installation while its secret changes. */
async function withServers(
  secrets: Secrets[],
  check: (...servers: [TestServer, TestServer]) => Promise<void>,
): Promise<void> {
  const servers: TestServer[] = [];
  try {
    for (const [current, previous] of secrets) {
      const env = {
        EGRESS_ALLOW: '127.0.0.0/8',
        SIGNING_SECRET: current,
        ...(previous !== undefined && { SIGNING_SECRET_PREVIOUS: previous }),
      };
      servers.push(await startPenstock({ installation, env }));
    }
    await check(...(servers as [TestServer, TestServer]));
  } finally {
    for (const server of servers) await server.close();
  }
}

const body = { messages: [{ role: 'user', content: 'Hi' }] };
let asked = 0;
const fresh = () => ({ 'idempotency-key': `changing ${(asked += 1)}` });

interface Made {
  data: { url: string }[];
  webhook: { id: string };
  delivery: { status: string };
}

/** What one process signed and sealed, asked of another: a file, a kept answer, a webhook. */
async function takenBy(other: TestServer, one: TestServer): Promise<object> {
  const picture = { prompt: 'a dam', size: '512x512', model: 'sandbox/image-basic' };
  const image = await one.rest<Made>('POST', '/images/generations', { key, body: picture });
  const { pathname, search } = new URL(image.body.data[0]!.url);
  const file = await fetch(`${other.origin}${pathname}${search}`);
  await file.arrayBuffer();
  const headers = fresh();
  await one.rest('POST', '/chat/completions', { key, body, headers });
  const replay = await other.rest('POST', '/chat/completions', { key, body, headers });
  const hook = { name: 'h', url: receiver.url, events: ['generation.completed'] };
  const { id } = (await one.rest<Made>('POST', '/webhooks', { key, body: hook })).body.webhook;
  const test = await other.rest<Made>('POST', `/webhooks/${id}/test`, { key });
  await one.rest('DELETE', `/webhooks/${id}`, { key });
  return { file: file.status, replay: replay.status, delivery: test.body.delivery?.status };
}

const taken = { file: 200, replay: 200, delivery: 'succeeded' };

describe('the signing secret', () => {
  test.each<[step: string, ...Secrets[]]>([
    ['first', ['old'], ['old', 'new']],
    ['second', ['old', 'new'], ['new', 'old']],
    ['last', ['new', 'old'], ['new']],
  ])('changes in steps, in which each process takes what the others made: the %s', async (_, ...secrets) => {
    await withServers(secrets, async (left, changed) => {
      for (const { origin } of [left, changed]) expect((await fetch(`${origin}/readyz`)).status).toBe(200);
      expect(await takenBy(left, changed)).toEqual(taken);
      expect(await takenBy(changed, left)).toEqual(taken);
    });
  });

  test('a kept answer that another secret sealed is 409 and says so', async () => {
    await withServers([['old'], ['new', 'old']], async (old, changed) => {
      const headers = fresh();
      const first = await changed.rest('POST', '/chat/completions', { key, body, headers });
      expect(first.status).toBe(200);
      const replay = await old.rest('POST', '/chat/completions', { key, body, headers });
      expect([replay.status, replay.body]).toEqual([
        409,
        {
          error: 'The first answer was kept under a signing secret that is not known here',
          code: 'conflict',
        },
      ]);
    });
  });
});
