import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let installation: Installation;
let server: TestServer;
beforeAll(async () => {
  installation = await createInstallation();
  const name = new URL(installation.databaseUrl).pathname.slice(1);
  for (const setting of [
    `datestyle = 'German, DMY'`,
    `intervalstyle = 'sql_standard'`,
    `bytea_output = 'escape'`,
    `timezone = 'Asia/Kolkata'`,
    `default_transaction_isolation = 'repeatable read'`,
    `array_nulls = off`,
    `row_security = off`,
    `lock_timeout = 1`,
  ])
    await installation.sql(`ALTER DATABASE ${name} SET ${setting}`);
  server = await startPenstock({ installation });
});
afterAll(async () => {
  await server.close();
  await installation.close();
});

test('a database whose defaults are not PostgreSQL’s own serves as any other', async () => {
  const owner = await server.createOrg();
  const ask = (path: string, key: string, body: object) =>
    fetch(server.baseUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${owner.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => [
      ask('/chat/completions', `chat-${i}`, { messages: [{ role: 'user', content: `Hi ${i}` }] }),
      ask('/images/generations', `image-${i}`, { prompt: 'A lock', size: '512x512' }),
    ]).flat(),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const quota = await fetch(`${server.baseUrl}/quota`, {
    headers: { authorization: `Bearer ${owner.key}` },
  });
  const { plan, quotas } = (await quota.json()) as {
    plan: { current_period_end: string };
    quotas: { image_generations: { used: number } };
  };
  expect(quotas.image_generations.used).toBe(8);
  expect(JSON.stringify(plan)).toMatch(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
});
