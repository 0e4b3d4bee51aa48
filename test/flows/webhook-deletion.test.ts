import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';

let installation: Installation;
let server: SpawnedServer;
beforeAll(async () => {
  installation = await createInstallation();
  server = await spawnPenstock(installation);
});
afterAll(async () => {
  await server?.close();
  await installation?.close();
});

/** Does `work` while the deletion of a webhook takes its time, as one with many deliveries does. */
async function whileDeleting<Result>(
  key: string,
  work: (id: string) => Promise<Result>,
): Promise<Awaited<Result>> {
  const body = {
    name: 'hook',
    url: 'https://example.com/',
    events: ['chat.message.created', 'generation.started', 'generation.completed'],
  };
  const made = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', { key, body });
  const { id } = made.body.webhook;
  const deletion = new pg.Client(installation.databaseUrl);
  await deletion.connect();
  try {
    await deletion.query('BEGIN');
    await deletion.query('DELETE FROM webhooks WHERE id = $1', [id]);
    const result = work(id);
    await sleep(1000);
    await deletion.query('COMMIT');
    return await result;
  } finally {
    await deletion.end();
  }
}

test('a chat is answered and charged while a webhook of its organisation is deleted', async () => {
  const { key } = await installation.createOrg();
  const body = { messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await whileDeleting(key, () => server.rest('POST', '/chat/completions', { key, body }));
  expect(answer.status).toBe(200);
  const quota = await server.rest<{ quotas: { credits: { used: number } } }>('GET', '/quota', { key });
  expect(quota.body.quotas.credits.used).toBe(1);
});

test('a generation is done at its first attempt while a webhook of its organisation is deleted', async () => {
  const { key } = await installation.createOrg();
  const body = { prompt: 'a weir', size: '512x512' };
  const answer = await whileDeleting(key, () => server.rest('POST', '/images/generations', { key, body }));
  expect(answer.status).toBe(200);
  const attempts = await installation.sql('SELECT attempt FROM jobs');
  expect(attempts).toEqual([{ attempt: 1 }]);
});

test.each([
  ['test', {}],
  ['recover', { since: '2020-01-01T00:00:00Z' }],
])('%s of a webhook that is being deleted is no fault of ours', async (action, body) => {
  const { key } = await installation.createOrg();
  const answer = await whileDeleting(key, (id) =>
    server.rest('POST', `/webhooks/${id}/${action}`, { key, body }),
  );
  expect(answer.status).toBeLessThan(500);
});
