import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chargedTokens, completeChat, createUpstreamEngine, refuseChat, user } from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';
import type { FakeUpstream } from '../support/fake-upstream.js';

let upstream: FakeUpstream;
let other: FakeUpstream;
let engine: ChatEngine;
let org: ChatOrg;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ engine, upstream, other, close } = await createUpstreamEngine());
});
afterAll(() => close());
beforeEach(async () => {
  upstream.requests.length = 0;
  other.requests.length = 0;
  org = await engine.createOrg();
});

const ask = (more: object = {}) => user('Hi', { model: 'acme/alone', ...more });
const complete = (body: Record<string, unknown>) => completeChat(engine, org, body);

describe('a chat whose model fails', () => {
  it('goes to the fallback, which is named, at the price of the model that was asked for', async () => {
    upstream.queue({ status: 500 }, { status: 500 }, { status: 500 });
    const answer = await complete(ask({ model: 'acme/chat-1' }));
    expect(answer).toMatchObject({ model: 'spare/chat-1', model_tier: 'standard' });
    expect(await chargedTokens(org)).toEqual([{ state: 'settled', tokens: 30 }]);
  });

  it('asks a fallback for no more than its window holds, and passes over one that the prompt does not fit', async () => {
    other.queue({ status: 404 });
    expect((await complete(ask({ model: 'spare/alone' }))).model).toBe('spare/small');
    const cap = Number((other.requests[1]?.body ?? {})['max_tokens']);
    expect(cap).toBeGreaterThan(0);
    expect(cap).toBeLessThan(40);
    other.queue({ status: 404 });
    const long = user('word '.repeat(100), { model: 'spare/alone' });
    expect((await complete(long)).model).toBe('acme/alone');
  });

  it('is no 400 where a fallback refuses what the model that was asked for might have taken', async () => {
    upstream.queue({ status: 500 }, { status: 500 }, { status: 500 });
    other.queue({ status: 400, body: { error: { message: 'no logprobs here' } } });
    const fault = await refuseChat(engine, org, ask({ model: 'acme/chat-1', logprobs: true }));
    expect(fault).toMatchObject({ code: 'server_error', message: 'Generation failed' });
    expect(other.requests).toHaveLength(1);
    other.queue({ status: 404 }, { status: 400, body: { error: { message: 'no' } } });
    expect((await complete(ask({ model: 'spare/alone' }))).model).toBe('acme/alone');
  });
});
