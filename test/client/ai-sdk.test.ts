import {
  APICallError,
  embedMany,
  generateImage,
  generateSpeech,
  generateText,
  stepCountIs,
  streamText,
  tool,
  transcribe,
} from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createPenstockProvider } from '../../client/src/ai-sdk.js';
import type { PenstockProvider } from '../../client/src/ai-sdk.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let penstock: PenstockProvider;
beforeAll(async () => {
  server = await startPenstock();
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  penstock = createPenstockProvider({ url: server.origin, key });
});
afterAll(() => server?.close());

const model = () => penstock('sandbox/chat-basic');

describe('the AI SDK with the provider of @penstock/client', () => {
  it('generates and streams text, with its usage', async () => {
    const whole = await generateText({ model: model(), prompt: 'Of weirs' });
    expect(whole.text).not.toBe('');
    expect(whole.finishReason).toBe('stop');
    expect(whole.usage.outputTokens).toBeGreaterThan(5);
    const streamed = streamText({ model: model(), prompt: 'Of weirs' });
    let text = '';
    for await (const part of streamed.textStream) text += part;
    expect(text).toBe(whole.text);
    expect((await streamed.usage).outputTokens).toBe(whole.usage.outputTokens);
  });

  it.each(['generateText', 'streamText'])('runs a loop of tools with %s', async (way) => {
    const seen: unknown[] = [];
    const options = {
      model: model(),
      prompt: 'How high? @sandbox{"tool_call":{"name":"gauge","arguments":{"at":"weir"}}}',
      stopWhen: stepCountIs(2),
      tools: {
        gauge: tool({
          description: 'Reads a gauge.',
          inputSchema: z.object({ at: z.string() }),
          execute: ({ at }) => {
            seen.push(at);
            return { metres: 2 };
          },
        }),
      },
    };
    const steps =
      way === 'generateText' ? (await generateText(options)).steps : await streamText(options).steps;
    expect(seen[0]).toBe('weir');
    expect(steps[0]?.finishReason).toBe('tool-calls');
    expect(steps[0]?.toolResults[0]?.output).toEqual({ metres: 2 });
  });

  it('embeds, draws, speaks and listens', async () => {
    const { embeddings } = await embedMany({
      model: penstock.embeddingModel('sandbox/embedding-basic'),
      values: ['a weir', 'a mill'],
    });
    expect(embeddings.map((one) => one.length > 100)).toEqual([true, true]);
    const { image } = await generateImage({
      model: penstock.imageModel('sandbox/image-basic'),
      prompt: 'A weir',
      size: '512x512',
    });
    expect(image.mediaType).toBe('image/png');
    const { audio } = await generateSpeech({
      model: penstock.speechModel('sandbox/tts-fast'),
      text: 'The water rises.',
      outputFormat: 'wav',
    });
    expect(Buffer.from(audio.uint8Array).subarray(0, 4).toString()).toBe('RIFF');
    const heard = await transcribe({
      model: penstock.transcriptionModel('sandbox/stt-fast'),
      audio: audio.uint8Array,
    });
    expect(heard.text.toLowerCase()).toContain('water');
  });

  it('fails with the message of the server, and repeats only what may help', async () => {
    const refused = await generateText({ model: penstock('sandbox/nothing'), prompt: 'Hi' }).catch(
      (error: unknown) => error,
    );
    expect(APICallError.isInstance(refused)).toBe(true);
    expect(refused).toMatchObject({ statusCode: 400, isRetryable: false });
    expect((refused as Error).message).toContain('sandbox/nothing');
    const stranger = createPenstockProvider({ url: server.origin, key: 'sk_nobody' });
    await expect(generateText({ model: stranger('sandbox/chat-basic'), prompt: 'Hi' })).rejects.toMatchObject(
      {
        statusCode: 401,
      },
    );
  });
});
