import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

const NUL = '\u0000';
const HALF = '\ud83d';
/** More than JSON.stringify can write. */
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

const TYPES = {
  chat: 'chat',
  paint: 'image',
  edit: 'image_edit',
  voice: 'tts',
  ears: 'stt',
  embed: 'embedding',
};

let upstream: NativeUpstream;
let penstock: TestServer;
let key: string;

/** Two provider entries of the same models: what `odd` cannot do `plain` is asked for. */
function providersAt(origin: string) {
  const providers = ['odd', 'plain'].map((id) => ({
    id,
    kind: 'openai-compatible',
    baseUrl: `${origin}/${id}/v1?code=QuerySecretNinety`,
    apiKey: 'sk-acme-secret',
    headers: { cookie: 'session=CookieSecret0', 'x-tenant': 'A Tenant 0815' },
    models: Object.entries(TYPES).map(([name, type]) => ({
      id: `${id}/${name}`,
      upstreamId: name,
      type,
      tier: 'standard',
    })),
  }));
  const fallbacks = Object.fromEntries(
    ['paint', 'edit', 'voice'].map((name) => [`odd/${name}`, [`plain/${name}`]]),
  );
  return { providers, fallbacks };
}

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const windows = ['chat', 'image', 'image_edit', 'tts', 'stt'];
  penstock = await startPenstock({
    providers: providersAt(upstream.origin),
    plans: {
      endpointLimits: Object.fromEntries(windows.map((name) => [name, { limit: 1000, windowSeconds: 60 }])),
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
beforeEach(() => upstream.clear());
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  penstock.rest('POST', path, { key, body, headers });

const picture = async (background: string, side = 64): Promise<string> => {
  const plain = sharp({ create: { width: side, height: side, channels: 3, background } });
  return (await plain.png().toBuffer()).toString('base64');
};

const wave = waveOf(Int16Array.from({ length: 32_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));
const file = wave.toString('base64');

async function creditsLeft(): Promise<{ used: number; remaining: number }> {
  const { body } = await penstock.rest<{ quotas: { credits: { used: number; remaining: number } } }>(
    'GET',
    '/quota',
    { key },
  );
  const { used, remaining } = body.quotas.credits;
  return { used, remaining };
}

describe('what PostgreSQL cannot store, said by an upstream', () => {
  const said = `a${NUL}b${HALF} \\u0000`;

  it('is left out of a transcription, which is asked for once', async () => {
    const segments = [{ start: 0, end: 1, text: said, speaker: said }];
    upstream.on('/odd/v1/audio/transcriptions', { body: { text: said, language: 'en', segments } });
    const { status, body } = await post('/audio/transcriptions', { model: 'odd/ears', file });
    expect([status, body]).toMatchObject([
      200,
      { text: 'ab\ufffd \\u0000', segments: [{ text: 'ab\ufffd \\u0000' }] },
    ]);
    expect(upstream.requests).toHaveLength(1);
  });

  it('is left out of a picture’s prompt', async () => {
    const data = [{ b64_json: await picture('#00ff00'), revised_prompt: said }];
    upstream.on('/odd/v1/images/generations', { body: { data } });
    const { body } = await post('/images/generations', { model: 'odd/paint', prompt: 'x' });
    expect(body).toMatchObject({ data: [{ revised_prompt: 'ab\ufffd \\u0000' }] });
  });

  it('is no id of a chat, whose event is written beside those of others', async () => {
    const hook = { name: 'all', url: 'http://127.0.0.1:9/', events: ['chat.message.created'] };
    await post('/webhooks', hook);
    const message = { role: 'assistant', content: said };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    upstream.on('/odd/v1/chat/completions', {
      body: { id: `up-${NUL}`, object: 'chat.completion', choices },
    });
    const asked = { model: 'odd/chat', messages: [{ role: 'user', content: 'Hi' }] };
    const answers = await Promise.all(Array.from({ length: 4 }, () => post('/chat/completions', asked)));
    for (const { status, body } of answers)
      expect([status, body]).toMatchObject([
        200,
        { id: expect.stringMatching(/^chatcmpl-/), choices: [{ message }] },
      ]);
  });
});

describe('an answer nested too deeply to be written', () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const called = `{"id":"c","type":"function","function":{"name":"f","arguments":${DEEP}}}`;

  it.each([
    `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[${called}]},"finish_reason":"stop"}]}`,
    `{"id":"x","choices":[{"index":5,"message":{"role":"assistant","content":"a","x":${DEEP}},"finish_reason":"stop"}]}`,
    `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"x":${DEEP}}}`,
  ])('is a failure of its upstream, free and with nothing left reserved (%#)', async (answer) => {
    upstream.on('/odd/v1/chat/completions', { body: answer });
    const before = await creditsLeft();
    expect(await post('/chat/completions', { model: 'odd/chat', messages })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
    expect(await creditsLeft()).toEqual(before);
  });

  it('ends a stream with the charge for what was delivered', async () => {
    const begun = `{"id":"x","choices":[{"index":0,"delta":{"content":"${'word '.repeat(400)}"},"finish_reason":null}]}`;
    const deep = `{"id":"x","choices":[{"index":0,"delta":{"content":["a"],"x":${DEEP}},"finish_reason":null}]}`;
    upstream.on('/odd/v1/chat/completions', { events: [begun, deep] });
    const before = await creditsLeft();
    const answer = await fetch(`${penstock.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'odd/chat', messages, stream: true }),
    });
    expect(await answer.text()).toContain('Generation failed');
    const after = await creditsLeft();
    expect(after.used).toBeGreaterThan(before.used);
    expect(after.used - before.used).toBeCloseTo(before.remaining - after.remaining, 6);
  });
});

describe('what an upstream made and nobody can read', () => {
  const junk = Buffer.from('<html>no</html>').toString('base64');

  it('is made by the fallback: a picture, an edit, speech', async () => {
    const good = await picture('#00ff00');
    const cut = Buffer.from(good, 'base64').subarray(0, 60).toString('base64');
    upstream.on('/odd/v1/images/generations', { body: { data: [{ b64_json: cut }] } });
    upstream.on('/plain/v1/images/generations', { body: { data: [{ b64_json: good }] } });
    upstream.on('/odd/v1/images/edits', { body: { data: [{ b64_json: junk }] } });
    upstream.on('/plain/v1/images/edits', { body: { data: [{ b64_json: good }] } });
    upstream.on('/odd/v1/audio/speech', { body: Buffer.from('no sound') });
    upstream.on('/plain/v1/audio/speech', { body: wave });
    const edit = { operation: 'styleTransfer', prompt: 'x', image: good };
    for (const [path, body] of [
      ['/images/generations', { model: 'odd/paint', prompt: 'x' }],
      ['/images/edits', { model: 'odd/edit', ...edit }],
      ['/audio/speech', { model: 'odd/voice', input: 'Hi', response_format: 'wav' }],
    ] as const) {
      const answer = await post(path, body);
      expect([path, answer.status, answer.body['model']]).toEqual([
        path,
        200,
        body.model.replace('odd', 'plain'),
      ]);
    }
  });

  it('is no fault of the picture that the caller gave', async () => {
    for (const id of ['odd', 'plain'])
      upstream.on(`/${id}/v1/images/edits`, { body: { data: [{ b64_json: junk }] } });
    const body = {
      model: 'odd/edit',
      operation: 'styleTransfer',
      prompt: 'x',
      image: await picture('#ff0000'),
    };
    expect(await post('/images/edits', body)).toMatchObject({
      status: 500,
      body: { error: 'Generation failed', code: 'server_error' },
    });
  });
});

it('a picture is taken however a gateway gives it: as base64, with the head of a data URL, or as such a URL in place of its address', async () => {
  const good = await picture('#00ff00');
  const heads = ['image/png', 'image/png;charset=utf-8', '', 'application/octet-stream'];
  const inline = [...heads.map((head) => `data:${head};base64,${good}`), `DATA:IMAGE/PNG;BASE64,${good}`];
  const items = inline.flatMap((url) => [{ b64_json: url }, { b64_json: null, url }]);
  for (const item of [{ b64_json: good }, ...items]) {
    upstream.on('/odd/v1/images/generations', { body: { data: [item] } });
    const { status, body } = await post('/images/generations', { model: 'odd/paint', prompt: 'x' });
    expect([status, body['model']]).toEqual([200, 'odd/paint']);
  }
});

it('a picture that an upstream made is fetched again where its file cannot be had for a moment, not made again or elsewhere', async () => {
  const answers: NativeReply[] = [{ status: 503 }, { status: 429 }];
  const good = Buffer.from(await picture('#00ff00'), 'base64');
  upstream.on('/odd/v1/images/generations', { body: { data: [{ url: `${upstream.origin}/files/a.png` }] } });
  upstream.on('/files/', () => answers.shift() ?? { headers: { 'content-type': 'image/png' }, body: good });
  const { status, body } = await post('/images/generations', { model: 'odd/paint', prompt: 'x' });
  expect([status, body['model']]).toEqual([200, 'odd/paint']);
  expect(upstream.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET']);
});

describe('an upstream that keeps its convention loosely', () => {
  it.each([
    ['abc', null, 0, 0],
    [-5, 1e300, 0, 2],
    [1.5, 0.5, 1.5, 1.5],
  ])('has its times of segments (%s to %s) brought into the sound', async (start, end, from, to) => {
    const segments = [{ start, end, text: {} }, null, { start: 1.5, end: 2, text: 'there' }];
    upstream.on('/odd/v1/audio/transcriptions', { body: { text: 'Hello there', segments } });
    const { status, body } = await post('/audio/transcriptions', { model: 'odd/ears', file });
    expect([status, body]).toMatchObject([
      200,
      {
        segments: [
          { start: from, end: to, text: '' },
          { start: 1.5, end: 2, text: 'there' },
        ],
      },
    ]);
    const srt = await post('/audio/transcriptions', { model: 'odd/ears', file, response_format: 'srt' });
    expect(srt.body).toBe('1\n00:00:01,500 --> 00:00:02,000\nthere\n\n');
  });

  it.each([
    [42, '42'],
    [{ type: 'text', text: 'hey' }, 'hey'],
    [['a', { text: 'b' }], 'ab'],
  ])('has a content of %j told as a string and counted', async (content, told) => {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    upstream.on('/odd/v1/chat/completions', { body: { id: 'x', object: 'chat.completion', choices } });
    const body = { model: 'odd/chat', messages: [{ role: 'user', content: 'Hi' }] };
    const { body: answer } = await post('/chat/completions', body);
    expect(answer).toMatchObject({
      choices: [{ message: { content: told } }],
      usage: { completion_tokens: 1 },
    });
  });

  it.each(['%%%', 'AAAA', 'AADAfw==', 'AAA='])('is refused an embedding of %j', async (embedding) => {
    upstream.on('/odd/v1/embeddings', { body: { data: [{ index: 0, embedding }] } });
    expect(await post('/embeddings', { model: 'odd/embed', input: 'x' })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
  });
});

it('what the operator configured is told to nobody, by an upstream that refuses with all that it was sent', async () => {
  upstream.on('/odd/v1/chat/completions', ({ headers, path }) => ({
    status: 400,
    body: {
      error: {
        message: `No, because: ${headers.cookie} ${String(headers['x-tenant'])} ${path} ${headers.host}`,
      },
    },
  }));
  const body = { model: 'odd/chat', messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await post('/chat/completions', body);
  expect([answer.status, answer.body['error']]).toEqual([400, expect.stringContaining('No, because')]);
  expect(answer.body['error']).not.toMatch(/CookieSecret|Tenant|QuerySecret|127\.0\.0\.1/);
});

describe('a failure that an upstream tells in a choice', () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const error = { code: 502, message: 'Provider died at /srv/app/x.py with Bearer sk-SUPERSECRETKEY0001' };

  it('is none of its answers: nothing is charged, its words are told to nobody', async () => {
    const choices = [
      { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'error', error },
    ];
    upstream.on('/odd/v1/chat/completions', { body: { id: 'x', object: 'chat.completion', choices } });
    const before = await creditsLeft();
    expect(await post('/chat/completions', { model: 'odd/chat', messages })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed', code: 'server_error' },
    });
    expect(await creditsLeft()).toEqual(before);
  });

  it.each([{ finish_reason: 'error' }, { finish_reason: null, error }])(
    'ends a stream with an error event (%j)',
    async (end) => {
      const choice = (delta: object, more: object = { finish_reason: null }) => ({
        id: 'x',
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, ...more }],
      });
      upstream.on('/odd/v1/chat/completions', {
        events: [
          choice({ role: 'assistant', content: 'Hel' }),
          choice({ content: 'lo' }),
          choice({}, end),
          '[DONE]',
        ],
      });
      const answer = await fetch(`${penstock.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'odd/chat', messages, stream: true }),
      });
      const text = await answer.text();
      expect(text).toContain('{"error":"Generation failed","code":"server_error"}');
      expect(text).not.toMatch(/DONE|Provider died/);
    },
  );
});
