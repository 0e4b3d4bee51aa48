import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import { completeChat, createChatEngine, refuseChat, user, WIDE_WINDOWS } from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';

let engine: ChatEngine;
let org: ChatOrg;
beforeAll(async () => {
  engine = await createChatEngine({ plans: WIDE_WINDOWS });
  org = await engine.createOrg();
});
afterAll(() => engine.close());

const complete = (body: Record<string, unknown>, from: ChatOrg = org) => completeChat(engine, from, body);
const refusal = (body: Record<string, unknown>, from: ChatOrg = org) => refuseChat(engine, from, body);

describe('a refused chat', () => {
  it.each<[string, Record<string, unknown>, string, string]>([
    ['no messages', {}, 'messages is required', 'messages'],
    ['an empty list of messages', { messages: [] }, 'messages must be a non-empty array', 'messages'],
    [
      'another role',
      { messages: [{ role: 'root', content: 'x' }] },
      'messages[0].role must be one of system, user, assistant, tool',
      'messages',
    ],
    ['no content', { messages: [{ role: 'user' }] }, 'messages[0].content is required', 'messages'],
    [
      'five images',
      {
        messages: [
          {
            role: 'user',
            content: 'x',
            images: Array.from({ length: 5 }, () => 'https://example.com/a.png'),
          },
        ],
      },
      'A message can have at most 4 images',
      'images',
    ],
    [
      'five images as parts',
      {
        messages: [
          {
            role: 'user',
            content: Array.from({ length: 5 }, () => ({
              type: 'image_url',
              image_url: { url: 'https://example.com/a.png' },
            })),
          },
        ],
      },
      'A message can have at most 4 images',
      'image_url',
    ],
    [
      'a private image',
      { messages: [{ role: 'user', content: 'x', images: ['http://127.0.0.1/a.png'] }] },
      'Invalid URL',
      'images',
    ],
    [
      'an image that is a file',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] },
        ],
      },
      'Invalid URL',
      'image_url',
    ],
    [
      'an SVG, whatever it calls itself',
      {
        messages: [{ role: 'user', content: 'x', images: ['data:image/png;base64,PHN2ZyB4bWxucz0iIi8+'] }],
      },
      'messages[0].images[0] must be a JPEG, PNG, WebP or GIF image',
      'images',
    ],
    [
      'line breaks before junk, soon',
      user('x', {
        messages: [{ role: 'user', content: 'x', images: [`iVBORw0KGgo${'\n'.repeat(300_000)}!`] }],
      }),
      'Invalid URL',
      'images',
    ],
    [
      'temperature 2.1',
      user('x', { temperature: 2.1 }),
      'temperature must be between 0 and 2',
      'temperature',
    ],
    [
      'temperature as text',
      user('x', { temperature: '1' }),
      'temperature must be between 0 and 2',
      'temperature',
    ],
    ['top_p 1.1', user('x', { top_p: 1.1 }), 'top_p must be between 0 and 1', 'top_p'],
    [
      'max_tokens -1',
      user('x', { max_tokens: -1 }),
      'max_tokens must be a whole number between 1 and 10000000',
      'max_tokens',
    ],
    [
      'max_tokens 1.5',
      user('x', { max_tokens: 1.5 }),
      'max_tokens must be a whole number between 1 and 10000000',
      'max_tokens',
    ],
    ['n 2', user('x', { n: 2 }), 'n must be 1', 'n'],
    ['an unknown model', user('x', { model: 'no/such' }), 'Unknown model: no/such', 'model'],
    [
      'a model that nobody configured',
      user('x', { model: 'openai/gpt-4.1' }),
      'Model not available: openai/gpt-4.1',
      'model',
    ],
    [
      'a stop that is a number',
      user('x', { stop: 3 }),
      'stop must be a string or an array of strings',
      'stop',
    ],
    [
      '65 stops',
      user('x', { stop: Array.from({ length: 65 }, () => 'x') }),
      'stop must have at most 64 strings',
      'stop',
    ],
    ['a stream that is text', user('x', { stream: 'yes' }), 'stream must be a boolean', 'stream'],
  ])('with %s is 400 and names the field', async (_name, body, message, param) => {
    expect(await refusal(body)).toMatchObject({
      code: 'invalid_request',
      status: 400,
      message,
      details: { param },
    });
  });

  it('with a prompt longer than the window is 400', async () => {
    const fault = await refusal(user('word '.repeat(200_000)));
    expect(fault).toMatchObject({ code: 'invalid_request' });
    expect(fault.message).toContain('context window');
  });

  it('takes nulls for absent and ignores unknown fields', async () => {
    const answer = await complete(
      user('x', {
        temperature: null,
        max_tokens: null,
        n: null,
        stop: null,
        model: null,
        orgId: 'org_x',
        api_base: 'http://evil',
      }),
    );
    expect(answer.model).toBe('sandbox/chat-basic');
  });

  it('is 403 for a tier that the plan does not open, before its other faults', async () => {
    const free = await engine.createOrg('free');
    expect(await refusal({ model: 'sandbox/chat-standard', messages: [] }, free)).toMatchObject({
      status: 403,
      message: 'Model tier not allowed',
    });
  });

  it('is 402 for tokens that the credits cannot cover, and cut where only a part fits', async () => {
    const free = await engine.createOrg('free');
    await engine.metering.setUsed(free.orgId, 'credits', 9900);
    const cut = await complete(user('@sandbox{"tokens":3000}', { max_tokens: 3000 }), free);
    expect(cut.choices[0]?.finish_reason).toBe('length');
    expect(cut.usage['total_tokens']).toBe(1000);
    expect(cut.usage).toMatchObject({ credits_used: 1, tokens_remaining_estimate: 0 });
    const fault = await refusal(user('x'), free);
    expect(fault).toMatchObject({
      code: 'quota_exceeded',
      status: 402,
      message: 'Quota exceeded for chat_tokens',
      details: { remaining: 0 },
    });
  });

  it('is free when it fails before its first token', async () => {
    const own = await engine.createOrg();
    const body = user('@sandbox{"fail":"boom"}');
    await expect(engine.chat.complete(await own.call(), body)).rejects.toMatchObject({
      code: 'server_error',
      message: 'Generation failed',
    });
    await expect(engine.chat.stream(await own.call(), body)).rejects.toMatchObject({
      message: 'Generation failed',
    });
    expect((await own.ledger()).map((row) => row.state)).toEqual(['released', 'released']);
  });

  it('is charged its prompt when its caller hangs up', async () => {
    const own = await engine.createOrg();
    const gone = new AbortController();
    const working = engine.chat.complete(
      await own.call({ signal: gone.signal }),
      user('@sandbox{"delay_ms":60000}'),
    );
    setTimeout(() => gone.abort(), 100);
    await expect(working).rejects.toBeInstanceOf(ApiError);
    const [row] = await own.ledger();
    expect(row).toMatchObject({ state: 'settled', amounts: { credits: 100 } });
  });
});

describe('the price of a chat', () => {
  it('is the tokens times the multiplier, rounded up, with the base before it', async () => {
    const own = await engine.createOrg();
    const answer = await complete(
      user('@sandbox{"tokens":2500}', { model: 'sandbox/chat-standard', max_tokens: 4000 }),
      own,
    );
    const total = answer.usage['total_tokens'] ?? 0;
    expect(answer.usage['credits_used']).toBe(Math.ceil((total * 1.5) / 1000));
    expect(answer.usage.credits_breakdown.base).toBe(Math.ceil(total / 1000));
    const balances = await engine.metering.balances(own.orgId);
    expect(answer.usage['tokens_remaining_estimate']).toBe(
      Math.floor((balances.credits.remaining * 1000) / 1.5),
    );
  });

  it('can be estimated without doing it', async () => {
    const own = await engine.createOrg();
    const estimate = await engine.chat.estimate(
      await own.call(),
      user('x', { model: 'sandbox/chat-powerful', max_tokens: 1000 }),
    );
    expect(estimate).toMatchObject({
      model: 'sandbox/chat-powerful',
      modelTier: 'powerful',
      amounts: { credits: 300 },
    });
    expect(await own.ledger()).toEqual([]);
  });

  it('is told to webhooks as chat.message.created', async () => {
    const own = await engine.createOrg();
    const answer = await complete(user('x'), own);
    const rows = await engine.test.database.system.query<{ event: unknown }>(
      `SELECT event FROM outbox WHERE key = $1`,
      [own.orgId],
    );
    expect(rows.map((row) => row.event)).toContainEqual(
      expect.objectContaining({
        type: 'chat.message.created',
        orgId: own.orgId,
        data: {
          messageId: answer.id,
          model: 'sandbox/chat-basic',
          role: 'assistant',
          totalTokens: answer.usage['total_tokens'],
          conversationId: null,
        },
      }),
    );
  });
});
