import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { amazonEvents } from '../support/amazon-events.js';
import { startMessageWorld, TOOL, user, type MessageWorld } from './message-world.js';
import { nativeMessage, nativeStream, SIGNATURE, textBlock, textOf, thoughtOf } from './native-messages.js';

let world: MessageWorld;

beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.forget());

describe('a Claude at Bedrock', () => {
  it('gets the request in the form of its maker, and is read in that', async () => {
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const { data } = await world.client.beta.messages
      .create({
        model: 'bed/claude',
        betas: ['context-1m-2025-08-07', 'claude-code-20250219'],
        max_tokens: 100,
        messages: [user()],
        tools: [TOOL],
      } as never)
      .withResponse();
    expect(data).toMatchObject({ model: 'bed/claude', content: [{ text: 'Hi' }] });
    expect(world.sent().path).toBe('/v1/model/us.anthropic.claude-x-v1%3A0/invoke');
    expect(world.sent().headers.authorization).toBe('Bearer k');
    expect(world.sent().body).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['context-1m-2025-08-07'],
      max_tokens: 100,
      messages: [user()],
      tools: [TOOL],
    });
  });

  const headers = { 'content-type': 'application/vnd.amazon.eventstream' };
  const chunksOf = (events: string[]): Buffer =>
    amazonEvents(
      ...events.map((one) => {
        const data = /^data: (.*)$/m.exec(one)![1]!;
        return { event: 'chunk', payload: { bytes: Buffer.from(data).toString('base64'), p: 'abc' } };
      }),
    );

  it('streams, wherever its messages are cut', async () => {
    const bytes = chunksOf(nativeStream([thoughtOf('Hm'), textOf('Grüße ', '🌍')]));
    for (const size of [1, 7, 100, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at_) =>
        bytes.subarray(at_ * size, (at_ + 1) * size),
      );
      world.upstream.queue({ headers, chunks });
      const answer = await world.stream({ model: 'bed/claude' }).finalMessage();
      expect(answer.content).toMatchObject([
        { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
        { type: 'text', text: 'Grüße 🌍' },
      ]);
      expect(world.sent().path).toContain('/invoke-with-response-stream');
    }
  });

  it('that ends with an exception fails in the stream', async () => {
    const begun = chunksOf(nativeStream([textOf('one')]).slice(0, 4));
    const failed = amazonEvents({ exception: 'throttlingException', payload: { message: 'slow' } });
    world.upstream.queue({ headers, chunks: [begun, failed] });
    await expect(world.stream({ model: 'bed/claude' }).finalMessage()).rejects.toMatchObject({
      error: { error: { type: 'api_error' } },
    });
  });

  it('is no other model of Bedrock: that one is asked by chat', async () => {
    world.upstream.queue({
      body: {
        output: { message: { role: 'assistant', content: [{ text: 'Nova' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        metrics: { latencyMs: 1 },
      },
    });
    expect(await world.ask({ model: 'bed/nova' })).toMatchObject({
      content: [{ type: 'text', text: 'Nova' }],
    });
    expect(world.sent().path).toContain('/converse');
  });
});
