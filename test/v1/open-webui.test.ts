import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

/** The requests that Open WebUI's server sends to a connection (its routers openai, audio and images), field by field, without Open WebUI. */

let server: TestServer;
let headers: Record<string, string>;

beforeAll(async () => {
  server = await startPenstock();
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  headers = {
    authorization: `Bearer ${key}`,
    'x-openwebui-user-name': 'Ada%20L',
    'x-openwebui-user-id': '7c1f',
    'x-openwebui-user-email': 'ada@example.org',
    'x-openwebui-user-role': 'user',
  };
});
afterAll(() => server?.close());

const ask = (path: string, body?: object | FormData): Promise<Response> =>
  fetch(`${server.origin}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: body instanceof FormData ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });

function form(fields: Record<string, string>, files: [name: string, file: File][]): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  for (const [name, file] of files) made.append(name, file);
  return made;
}

interface Pictures {
  data: { url?: string; b64_json?: string }[];
}
/** It takes the address where there is one, and else the bytes. */
async function bytesOf({ data: [picture] }: Pictures): Promise<Buffer> {
  if (picture?.url === undefined) return Buffer.from(picture?.b64_json ?? '', 'base64');
  return Buffer.from(await (await fetch(picture.url, { headers })).arrayBuffer());
}
const isPicture = (bytes: Buffer): boolean =>
  /^(?:.PNG|\xff\xd8\xff|RIFF)/s.test(bytes.toString('latin1', 0, 4));

describe('what Open WebUI asks for', () => {
  it('is the list of models, of which the chat models can be chosen', async () => {
    const answer = await ask('/models');
    const { object, data } = (await answer.json()) as {
      object: string;
      data: { id: string; object: string }[];
    };
    expect([answer.status, object]).toEqual([200, 'list']);
    expect(data).toContainEqual(expect.objectContaining({ id: 'sandbox/chat-basic', object: 'model' }));
  });

  it('is a chat as a stream, with the usage that it shows', async () => {
    const answer = await ask('/chat/completions', {
      stream: true,
      model: 'sandbox/chat-basic',
      messages: [
        { role: 'system', content: 'You are helpful.' },
        { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      ],
      stream_options: { include_usage: true },
      temperature: 0.8,
      top_p: 0.9,
      stop: ['###'],
      seed: 7,
      frequency_penalty: 1,
      logit_bias: {},
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '));
    expect(lines.at(-1)).toBe('data: [DONE]');
    const chunks = lines
      .slice(0, -1)
      .map(
        (line) => JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[]; usage?: object },
      );
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).not.toBe('');
    expect(chunks.at(-1)?.usage).toMatchObject({ total_tokens: expect.any(Number) });
  });

  it('is a title in one piece', async () => {
    const answer = await ask('/chat/completions', {
      model: 'sandbox/chat-basic',
      messages: [{ role: 'user', content: '### Task:\nGenerate a concise, 3-5 word title' }],
      stream: false,
      max_completion_tokens: 1000,
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { choices: [{ message: { content: expect.stringMatching(/\S/) } }] },
    ]);
  });

  it('is a text read aloud, which it keeps as MP3', async () => {
    const answer = await ask('/audio/speech', { model: 'tts-fast', input: 'Hello', voice: 'alloy' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(1000);
  });

  it('is what was dictated, with a language and without', async () => {
    const file = new File([new Uint8Array(waveOf(new Int16Array(16_000).fill(500)))], 'recording.wav', {
      type: 'audio/wav',
    });
    const model = 'stt-fast';
    const asks: Record<string, string>[] = [{ model, language: 'en' }, { model }];
    for (const fields of asks) {
      const answer = await ask('/audio/transcriptions', form(fields, [['file', file]]));
      expect([answer.status, await answer.json()]).toMatchObject([200, { text: expect.any(String) }]);
    }
  });

  it('is a picture, and the picture edited', async () => {
    const made = await ask('/images/generations', {
      model: 'image-basic',
      prompt: 'a weir',
      n: 1,
      size: '512x512',
      response_format: 'b64_json',
    });
    const picture = await bytesOf((await made.json()) as Pictures);
    expect([made.status, isPicture(picture)]).toEqual([200, true]);

    const file = new File([new Uint8Array(picture)], 'image.png', { type: 'image/png' });
    const edited = await ask(
      '/images/edits',
      form({ model: 'image-edit-fast', prompt: 'in winter', n: '1', response_format: 'b64_json' }, [
        ['image[]', file],
      ]),
    );
    expect([edited.status, isPicture(await bytesOf((await edited.json()) as Pictures))]).toEqual([200, true]);
  });
});
