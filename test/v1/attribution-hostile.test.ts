import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let org: { orgId: string; key: string; keyId: string };

beforeAll(async () => {
  const window = { limit: 100_000, windowSeconds: 60 };
  server = await startPenstock({
    plans: {
      plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } },
      endpointLimits: { chat: window, image: window },
    },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  for (const scope of ['endUser', 'tag'] as const)
    await server.services.budgets.create(org.orgId, {
      name: scope,
      scope,
      subject: '*',
      unit: 'usd',
      limit: '1000',
      period: 'day',
    });
});
afterAll(() => server?.close());

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const CALLS: [path: string, body: object][] = [
  ['/v1/chat/completions', { model: 'sandbox/chat-basic', messages: MESSAGES, max_tokens: 5 }],
  ['/v1/completions', { model: 'sandbox/chat-basic', prompt: 'Hi', max_tokens: 5 }],
  ['/v1/responses', { model: 'sandbox/chat-basic', input: 'Hi', max_output_tokens: 16 }],
  ['/v1/messages', { model: 'sandbox/chat-basic', messages: MESSAGES, max_tokens: 5 }],
  ['/v1/embeddings', { model: 'sandbox/embedding-basic', input: 'Hi' }],
  ['/v1/rerank', { model: 'sandbox/rerank-basic', query: 'a', documents: ['a'] }],
  ['/v1/images/generations', { prompt: 'a mill', size: '512x512' }],
  ['/api/v1/chat/completions', { messages: MESSAGES, max_tokens: 5 }],
];

/** Whom a call is for, the header X-Tags, and whether it is to be refused. */
const SAID: [said: object, tags: string | null, isRefused: boolean][] = [
  [{ user: '*' }, '*', true],
  [{ user: 'a'.repeat(256) }, 'a'.repeat(64), false],
  [{ user: 'a'.repeat(257) }, null, true],
  [{ user: '😀'.repeat(256) }, null, false],
  [{ user: '=cmd|"/c calc"!A1' }, '-1', false],
  [{ user: '' }, ',, ,', false],
  [{}, Array.from({ length: 11 }, (_, at) => `t${at}`).join(','), true],
  [{}, Array.from({ length: 11 }, () => 'same').join(','), true],
  [{}, 'two words', true],
  [{ user: '__proto__' }, 'constructor,__proto__', false],
  [{ user: { toString: 'x' } }, null, false],
];

it.each(CALLS)(
  'hostile users and tags are taken or refused, never a fault of the server: %s',
  async (path, body) => {
    let taken = 0;
    let last = '';
    for (const [said, tags, isRefused] of SAID) {
      const answer = await server.raw(path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${org.key}`,
          'content-type': 'application/json',
          ...(tags === null ? {} : { 'x-tags': tags }),
        },
        body: JSON.stringify({ ...body, ...said }),
      });
      const text = await answer.body.text();
      const place = `${JSON.stringify(said).slice(0, 60)} ${tags?.slice(0, 40)}: ${text.slice(0, 200)}`;
      if (isRefused) expect(answer.statusCode, place).toBe(400);
      else expect([200, 400], place).toContain(answer.statusCode);
      last = text;
      taken += answer.statusCode === 200 ? 1 : 0;
    }
    expect(taken, last).toBeGreaterThan(2);
  },
  60_000,
);

it('every subject has a counter of its own, and the export has each as a text', async () => {
  const [users, tags] = await server.services.budgets.list(org.orgId);
  const subjectsOf = async (id: string) =>
    (await server.services.budgets.subjects(org.orgId, id, { first: 100 })).nodes.map((one) => one.subject);
  expect(await subjectsOf(users!.id)).toEqual(
    expect.arrayContaining(['__proto__', '😀'.repeat(256), '=cmd|"/c calc"!A1', 'a'.repeat(256)]),
  );
  expect(await subjectsOf(tags!.id)).toEqual(
    expect.arrayContaining(['-1', '__proto__', 'a'.repeat(64), 'constructor']),
  );
  const headers = { authorization: `Bearer ${org.key}` };
  const exported = await server.raw('/api/v1/usage/export', { method: 'GET', headers });
  expect(await exported.body.text()).toContain(`"'=cmd|""/c calc""!A1"`);
});
