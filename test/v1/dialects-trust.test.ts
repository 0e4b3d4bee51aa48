import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FakeUpstream } from '../support/fake-upstream.js';
import type { TestServer } from '../support/server.js';
import { startBothForms, type BothForms } from './both-forms.js';
import { nativeMessage, nativeStream, textBlock, textOf } from './native-messages.js';
import { nativeEvents, nativeResponse } from './native-responses.js';

let world: BothForms;
let server: TestServer;
let upstream: FakeUpstream;

beforeAll(async () => {
  world = await startBothForms();
  ({ server, upstream } = world);
});
afterAll(() => world?.close());
beforeEach(() => {
  upstream.requests.length = 0;
});

interface Dialect {
  path: string;
  /** A request of at most 100 tokens. */
  body: object;
  /** What ends a stream that is whole. */
  end: string;
  whole(text: string, usage: { prompt: number; completion: number }): object;
  events(texts: string[]): string[];
}

const messages = [{ role: 'user', content: 'x' }];
const native = {
  '/responses': {
    whole: (text, { prompt, completion: tokens }) =>
      nativeResponse(text, { usage: { input_tokens: prompt, output_tokens: tokens } }),
    events: (texts) => nativeEvents(texts),
  },
  '/messages': {
    whole: (text, { prompt, completion: tokens }) =>
      nativeMessage([textBlock(text)], { usage: { input_tokens: prompt, output_tokens: tokens } }),
    events: (texts) => nativeStream([textOf(...texts)]),
  },
} satisfies Record<string, Pick<Dialect, 'whole' | 'events'>>;

const RESPONSES = {
  path: '/responses',
  body: { input: 'x', max_output_tokens: 100 },
  end: 'response.completed',
};
const MESSAGES = { path: '/messages', body: { messages, max_tokens: 100 }, end: 'message_stop' };

/** Of upstreams that speak the dialect; for all others the matrix has the promises (trust-matrix.test.ts). */
const CASES: [string, string, Dialect][] = [
  ['/responses', 'nat/chat', { ...RESPONSES, ...native['/responses'] }],
  ['/messages', 'nat/chat', { ...MESSAGES, ...native['/messages'] }],
];

describe.each(CASES)('calls of %s to %s', (path, model, dialect) => {
  const ask = (key: string, more: object = {}) =>
    server.raw(`/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...dialect.body, ...more }),
    });

  async function left(key: string): Promise<number> {
    const { body } = await server.rest('GET', '/quota', { key });
    return (body as { quotas: { credits: { remaining: number } } }).quotas.credits.remaining;
  }

  it('never cost more than an organisation has, however many are asked for at once', async () => {
    upstream.always({ body: dialect.whole('Hi', { prompt: 5, completion: 45 }), delayMs: 50 });
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    await server.cli('quota', 'set', '--org', orgId, '--bucket', 'credits', '--used', '195');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(key)));
    const statuses = answers.map(({ statusCode }) => statusCode);
    await Promise.all(answers.map(({ body }) => body.text()));
    expect(new Set(statuses)).toEqual(new Set([200, 402]));
    expect(await left(key)).toBeGreaterThanOrEqual(0);
    expect(upstream.requests).toHaveLength(statuses.filter((status) => status === 200).length);
  });

  it('end when their key is revoked', async () => {
    const { orgId } = await server.createOrg({ plan: 'business_monthly' });
    const own = await server.createKey(orgId);
    const texts = Array.from({ length: 60 }, () => 'word ');
    upstream.queue({ chunks: dialect.events(texts), chunkMs: 100 });
    const { body } = await ask(own.key, { stream: true });
    const reading = body.text().catch(() => '');
    await sleep(600);
    await server.cli('key', 'revoke', '--id', own.id);
    expect(await reading).not.toContain(dialect.end);
    expect(upstream.requests[0]!.aborted).toBe(true);
  });

  it('end with their reader, who pays for what was delivered', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const before = await left(key);
    const texts = Array.from({ length: 400 }, () => 'word ');
    upstream.queue({ chunks: dialect.events(texts).slice(0, 390), then: 'hang' });
    const { body } = await ask(key, { stream: true });
    let read = 0;
    for await (const piece of body) {
      read += String(piece).split('word ').length - 1;
      if (read > 350) break;
    }
    await upstream.requests[0]!.hungUp;
    await expect.poll(() => left(key)).toBe(before - 1);
  });
});
