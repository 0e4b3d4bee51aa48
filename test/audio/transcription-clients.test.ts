import { createOpenAI } from '@ai-sdk/openai';
import { experimental_transcribe as transcribe } from 'ai';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadFrom } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

const TEXT = 'The quick brown fox jumps over the lazy dog. Then it sleeps in the warm sun.';
const MODEL = 'sandbox/stt-fast';

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let speech: Buffer;
beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg();
  const said = await server.rest<{ audio_url: string }>('POST', '/audio/speech', {
    key: org.key,
    body: { input: TEXT },
  });
  speech = (await downloadFrom(server.origin, said.body.audio_url)).bytes;
}, 60_000);
afterAll(() => server?.close());

describe('a transcription by a client of the convention', () => {
  it('is the official client’s, upload, words and subtitles included', async () => {
    const client = new OpenAI({ apiKey: org.key, baseURL: server.baseUrl, maxRetries: 0 });
    const file = await toFile(speech, 'speech.mp3');
    const plain = await client.audio.transcriptions.create({ file, model: MODEL });
    expect(plain.text).toBe(TEXT);
    const verbose = await client.audio.transcriptions.create({
      file,
      model: MODEL,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      language: 'en',
    });
    expect(verbose.segments?.map(({ id, seek, tokens }) => [id, seek, tokens])).toEqual(
      verbose.segments?.map((_, id) => [id, 0, []]),
    );
    expect(verbose.words?.map(({ word }) => word).join(' ')).toBe(TEXT);
    expect(verbose.segments?.[0]).toHaveProperty('words');
    const srt = await client.audio.transcriptions.create({ file, model: MODEL, response_format: 'srt' });
    expect(String(srt)).toMatch(/^1\n/);
  });

  it('is read by the AI SDK, which checks every segment', async () => {
    const provider = createOpenAI({ apiKey: org.key, baseURL: server.baseUrl });
    const heard = await transcribe({ model: provider.transcription(MODEL), audio: speech, maxRetries: 0 });
    expect(heard.text).toBe(TEXT);
    expect(heard.segments.length).toBeGreaterThan(0);
  });

  it('sent as JSON has the contract’s fields and no others', async () => {
    const { body } = await server.rest<{ segments: object[] }>('POST', '/audio/transcriptions', {
      key: org.key,
      body: { file: speech.toString('base64') },
    });
    expect(Object.keys(body.segments[0] ?? {}).toSorted()).toEqual(['end', 'speaker', 'start', 'text']);
    expect(body).not.toHaveProperty('task');
  });
});
