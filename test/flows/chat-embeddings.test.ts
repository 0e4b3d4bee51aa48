import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createChatEngine, WIDE_WINDOWS } from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';

let engine: ChatEngine;
let org: ChatOrg;
beforeAll(async () => {
  engine = await createChatEngine({ plans: WIDE_WINDOWS });
  org = await engine.createOrg();
});
afterAll(() => engine.close());

describe('embeddings', () => {
  const create = async (body: Record<string, unknown>) =>
    (await engine.embeddings.create(await org.call(), body)) as {
      data: { embedding: number[] | string }[];
      usage: Record<string, number>;
    };

  it('rank related texts above unrelated ones', async () => {
    const { data, usage } = await create({
      input: [
        'How do I water my garden plants?',
        'Watering plants in the garden',
        'Quarterly revenue of the bank',
      ],
    });
    const [question, related, unrelated] = data.map((item) => item.embedding as number[]);
    const dot = (a: number[] = [], b: number[] = []): number =>
      a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
    expect(dot(question, related)).toBeGreaterThan(dot(question, unrelated) + 0.2);
    expect(dot(question, question)).toBeCloseTo(1, 5);
    expect(usage).toMatchObject({ credits_used: 1 });
    expect(usage['total_tokens']).toBeGreaterThan(10);
  });

  it('come as base64 of little-endian float32, in the dimensions asked for', async () => {
    const floats = await create({ input: 'x y z', dimensions: 64 });
    const coded = await create({ input: 'x y z', dimensions: 64, encoding_format: 'base64' });
    const bytes = Buffer.from(coded.data[0]?.embedding as string, 'base64');
    expect(bytes.length).toBe(256);
    expect(bytes.readFloatLE(8)).toBeCloseTo(
      (floats.data as { embedding: number[] }[])[0]?.embedding[2] ?? 9,
      6,
    );
  });

  it.each([
    [{}, 'input is required'],
    [{ input: [] }, 'input must be a string or an array of 1 to 2048 strings'],
    [{ input: '' }, 'input must not be empty'],
    [{ input: 'x', dimensions: 0 }, 'dimensions must be a whole number between 1 and 4096'],
    [{ input: 'x', model: 'sandbox/chat-basic' }, 'Unknown model: sandbox/chat-basic'],
  ])('refuse %j', async (body, message) => {
    await expect(create(body)).rejects.toMatchObject({ code: 'invalid_request', message });
  });

  it('run out with the message of chat', async () => {
    const free = await engine.createOrg('free');
    await engine.metering.setUsed(free.orgId, 'credits', 10_000);
    await expect(engine.embeddings.create(await free.call(), { input: 'x' })).rejects.toMatchObject({
      status: 402,
      message: 'Quota exceeded for chat_tokens',
    });
  });
});
