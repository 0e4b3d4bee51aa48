import OpenAI from 'openai';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createResponseRetention } from '../../src/generation/index.js';
import { completion, type FakeUpstream } from '../support/fake-upstream.js';
import type { TestServer } from '../support/server.js';
import { startBothForms, type BothForms } from './both-forms.js';
import { nativeEvents, nativeResponse } from './native-responses.js';

let world: BothForms;
let server: TestServer;
let upstream: FakeUpstream;

beforeAll(async () => {
  world = await startBothForms({ dialects: ['responses'], model: { contextWindow: 400 } });
  ({ server, upstream } = world);
});
afterAll(() => world?.close());
beforeEach(() => {
  upstream.requests.length = 0;
});

const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${server.origin}/v1`, maxRetries: 0 });

const statusOf = async (asked: Promise<unknown>): Promise<number> =>
  asked.then(
    () => 200,
    (error: { status: number }) => error.status,
  );

describe.each(['acme/chat', 'nat/chat'])('responses of %s', (model) => {
  it('leave out the oldest of what does not fit where they may, and are refused where not', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const client = clientOf(key);
    const old = Array.from({ length: 20 }, (_, at) => ({
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `Turn ${at}: ${'some words that take room '.repeat(6)}`,
    }));
    const input = [...old, { role: 'user' as const, content: 'The question' }];
    upstream.always({ body: model === 'nat/chat' ? nativeResponse('Hi') : completion('Hi') });
    const asked = { model, instructions: 'Be brief.', input, max_output_tokens: 20 };
    await expect(client.responses.create(asked)).rejects.toMatchObject({ status: 400, param: 'input' });
    const answer = await client.responses.create({ ...asked, truncation: 'auto' });
    expect(answer.output_text).toBe('Hi');
    const { body } = upstream.requests.at(-1)!;
    const sent = JSON.stringify(body['input'] ?? body['messages']);
    expect(sent).toContain('The question');
    expect(sent).not.toContain('Turn 0');
    expect(JSON.stringify(body)).toContain('Be brief.');
  });
});

describe('stored responses', () => {
  it('are not made where there is no room for them, unless they need none', async () => {
    upstream.always({ body: completion('Hi') });
    const { key, orgId } = await server.createOrg({ plan: 'business_monthly' });
    await server.services.database.system.query(
      `INSERT INTO stored_bytes (org_id, part, bytes, items) VALUES ('${orgId}', 0, 1000000000000000, 1)`,
    );
    const client = clientOf(key);
    const asked = { model: 'acme/chat', input: 'x' };
    await expect(client.responses.create(asked)).rejects.toMatchObject({
      status: 402,
      error: { message: 'Storage limit reached' },
    });
    expect(upstream.requests).toHaveLength(0);
    expect((await client.responses.create({ ...asked, store: false })).output_text).toBe('Hi');
  });

  it('are forgotten after their days', async () => {
    upstream.always({ body: completion('Hi') });
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const client = clientOf(key);
    const [old, young] = [
      await client.responses.create({ model: 'acme/chat', input: 'x' }),
      await client.responses.create({ model: 'acme/chat', input: 'x' }),
    ];
    await server.services.database.system.query(
      `UPDATE responses SET created_at = now() - interval '31 days' WHERE id = '${old.id}'`,
    );
    const { database } = server.services;
    const retention = createResponseRetention({
      database,
      removeFiles: async () => undefined,
      retentionDays: 30,
      logger: pino({ level: 'silent' }),
    });
    expect(await retention.sweep()).toBe(1);
    expect(await statusOf(client.responses.retrieve(old.id))).toBe(404);
    expect(await statusOf(client.responses.retrieve(young.id))).toBe(200);
  });

  it('hold what was delivered of an answer whose reader left', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const client = clientOf(key);
    upstream.queue({ chunks: nativeEvents(['one ', 'two']).slice(0, 5), then: 'hang' });
    const stream = await client.responses.create({ model: 'nat/chat', input: 'x', stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      if (event.type === 'response.output_text.delta') break;
    }
    stream.controller.abort();
    await expect.poll(() => statusOf(client.responses.retrieve(id))).toBe(200);
    expect((await client.responses.retrieve(id)).status).toBe('cancelled');
  });
});
