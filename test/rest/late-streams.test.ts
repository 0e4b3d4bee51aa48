import { afterAll, beforeAll, expect, test } from 'vitest';
import { chunk, DONE_EVENT, event, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply } from '../support/fake-upstream.js';
import { creditsUsed } from '../support/makers.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/** Longer than a proxy may be left without a byte. */
const LATE_MS = 11_500;
let upstream: FakeUpstream;
let penstock: TestServer;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    retry: { retries: 0, backoffMs: 1 },
    models: ['late', 'role', 'broken', 'refused', 'spare'].map((name) => ({
      id: `acme/${name}`,
      upstreamId: name,
      type: 'chat',
      tier: 'basic',
    })),
  };
  penstock = await startPenstock({
    providers: { providers: [acme], fallbacks: { 'acme/role': ['acme/spare'] } },
  });
  const whole = [chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop' }), DONE_EVENT];
  const replies: Record<string, Reply> = {
    late: { delayMs: LATE_MS, chunks: whole },
    // Says its role at once, and an error much later.
    role: {
      chunks: [chunk({ role: 'assistant', content: '' }), event({ error: { message: 'overloaded' } })],
      chunkMs: LATE_MS,
    },
    broken: { delayMs: LATE_MS, status: 503 },
    refused: { delayMs: LATE_MS, status: 400, body: { error: { message: 'No such thing' } } },
    spare: { chunks: whole },
  };
  upstream.always(({ body }) => replies[String(body['model'])] ?? { status: 404 });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

async function asked(model: string) {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const startedAt = performance.now();
  const answer = await fetch(`${penstock.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: `acme/${model}`,
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    }),
  });
  const waitedMs = performance.now() - startedAt;
  return { key, waitedMs, status: answer.status, headers: answer.headers, text: await answer.text() };
}

test('a stream without a first token for ten seconds has its head and a ping by then; whatever comes after stands in it', async () => {
  const [late, role, broken, refused] = await Promise.all(['late', 'role', 'broken', 'refused'].map(asked));
  for (const one of [late!, role!, broken!, refused!]) {
    expect(one.status).toBe(200);
    expect(one.headers.get('content-type')).toContain('text/event-stream');
    expect(one.headers.get('x-ratelimit-limit')).not.toBeNull();
    expect(one.text.startsWith(': ping\n\n')).toBe(true);
    expect(one.waitedMs).toBeGreaterThan(9_000);
    expect(one.waitedMs).toBeLessThan(LATE_MS);
  }
  for (const one of [late!, role!]) {
    expect(one.text).toContain('"content":"Hello"');
    expect(one.text.endsWith(DONE_EVENT)).toBe(true);
    expect(await creditsUsed(penstock, one.key)).toBe(1);
  }
  // The head is not the answer: a fallback may still give that.
  expect(role!.text).toContain('"model":"acme/spare"');
  for (const [one, error] of [
    [broken!, 'Generation failed'],
    [refused!, 'No such thing'],
  ] as const) {
    const events = one.text.split('\n\n').filter((line) => line.startsWith('data:'));
    expect(events.map((line) => JSON.parse(line.slice(5)) as unknown)).toEqual([
      { error, code: 'server_error' },
    ]);
    expect(await creditsUsed(penstock, one.key)).toBe(0);
  }
}, 60_000);
