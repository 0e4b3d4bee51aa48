import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  downloadFrom,
  flacOf,
  m4aOf,
  samplesOf,
  shownFrom,
  silentFlacOf,
  waveOf,
  webmOf,
} from '../support/audio.js';
import { HOSTILE_URLS } from '../support/hostile-urls.js';
import { pngBomb } from '../support/png-bomb.js';
import { startPenstock, type TestServer } from '../support/server.js';

const WINDOW = { limit: 10_000, windowSeconds: 60 };
const RATE = { rate: { rpm: 100_000, burst: 100_000 } };

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let sink: Server;
let sinkPort = 0;
let connections = 0;
let picture = '';
let agentId = '';

beforeAll(async () => {
  const endpointLimits = {
    chat: WINDOW,
    image_edit: WINDOW,
    video: WINDOW,
    tts: WINDOW,
    stt: WINDOW,
    music: WINDOW,
  };
  server = await startPenstock({ plans: { plans: { business_monthly: RATE }, endpointLimits } });
  org = await server.createOrg({ plan: 'business_monthly' });
  sink = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  sinkPort = (sink.address() as AddressInfo).port;
  picture = (await plain(32, 32)).toString('base64');
  const agent = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
    key: org.key,
    body: { name: 'a', system_prompt: 'b' },
  });
  agentId = agent.body.agent.id;
});
afterAll(async () => {
  await new Promise((resolve) => sink?.close(resolve));
  await server?.close();
});

async function plain(width: number, height: number): Promise<Buffer> {
  return await sharp({ create: { width, height, channels: 3, background: '#8899aa' } })
    .png()
    .toBuffer();
}

type Field = [path: string, param: string, body: (value: string) => object];
const FIELDS: Field[] = [
  ['/images/edits', 'image', (image) => ({ operation: 'colorization', image })],
  ['/images/edits', 'mask', (mask) => ({ operation: 'objectRemoval', image: picture, mask })],
  [
    '/videos/generations',
    'source_image',
    (source_image) => ({ prompt: 'x', mode: 'image_to_video', source_image }),
  ],
  [
    '/videos/generations',
    'source_video',
    (source_video) => ({ prompt: 'x', mode: 'video_to_video', source_video }),
  ],
  [
    '/music/generations',
    'source_audio',
    (source_audio) => ({ prompt: 'x', mode: 'audio_to_audio', source_audio }),
  ],
  ['/audio/speech', 'reference_audio', (reference_audio) => ({ input: 'x', voice: 'me', reference_audio })],
  ['/audio/transcriptions', 'file', (file) => ({ file })],
  ['/chat/completions', 'images', (url) => ({ messages: [{ role: 'user', content: 'x', images: [url] }] })],
  [
    '/chat/completions',
    'image_url',
    (url) => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }),
  ],
  ['/agents/:id/run', 'url', (url) => ({ input: 'x', attachments: [{ type: 'image', url, name: 'x' }] })],
  ['/webhooks', 'url', (url) => ({ name: 'x', url, events: ['generation.completed'], enabled: true })],
];

const post = (path: string, body: object) =>
  server.rest<{ error?: string; param?: string }>('POST', path.replace(':id', agentId), {
    key: org.key,
    body,
  });

describe('an address that would make the server somebody’s proxy', () => {
  it.each(FIELDS)(
    'is refused on %s in %s, in every spelling, and nothing is connected to',
    async (path, param, body) => {
      for (const form of HOSTILE_URLS) {
        const url = form.replace('PORT', String(sinkPort));
        const answer = await post(path, body(url));
        expect([form, answer.status, answer.body.error, answer.body.param]).toEqual([
          form,
          400,
          'Invalid URL',
          param,
        ]);
      }
      expect(connections).toBe(0);
    },
  );
});

const NOT_DATA = 'must be an http(s) URL, a data: URL or base64 data';
const NO_IMAGE = 'must be a JPEG, PNG or WebP image';

describe('a picture', () => {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const photo = async () =>
    await sharp({ create: { width: 400, height: 400, channels: 3, background: '#888', noise } })
      .jpeg()
      .toBuffer();
  const data = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`;
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');

  it.each<[string, string, () => string | Promise<string>]>([
    ['an SVG', NO_IMAGE, () => data(svg, 'image/svg+xml')],
    ['an SVG that says to be a PNG', NO_IMAGE, () => data(svg)],
    ['a GIF', NO_IMAGE, () => data(Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;', 'latin1'))],
    ['a page', NO_IMAGE, () => data(Buffer.from('<!doctype html><p>hello'))],
    ['nothing', NO_IMAGE, () => 'data:,'],
    ['50,000 pixels wide and high', 'must have at most', () => data(pngBomb(50_000))],
    ['cut off', 'cannot be read', async () => data((await photo()).subarray(0, 3000), 'image/jpeg')],
    ['a header alone', 'cannot be read', async () => data((await plain(32, 32)).subarray(0, 33))],
    ['no base64', NOT_DATA, () => 'data:image/png;base64,@@@@'],
    ['junk', NOT_DATA, () => '%%%%'],
    ['padding before junk, soon', NOT_DATA, () => `${'='.repeat(300_000)}!`],
  ])('that is %s is a 400 before any work', async (_what, reason, value) => {
    for (const [path, param, body] of FIELDS.slice(0, 3)) {
      const answer = await post(`${path}?async=true`, body(await value()));
      expect([answer.status, answer.body.param]).toEqual([400, param]);
      expect(answer.body.error?.startsWith(`${param} ${reason}`), answer.body.error).toBe(true);
    }
  });

  it('and its mask have the same dimensions', async () => {
    const mask = (await plain(32, 31)).toString('base64');
    expect(await post('/images/edits', { operation: 'objectRemoval', image: picture, mask })).toMatchObject({
      status: 400,
      body: { error: 'mask must have the same dimensions as the image', param: 'mask' },
    });
  });

  it('over 20 MB is 413 on every field', { timeout: 120_000 }, async () => {
    const large = Buffer.alloc(20 * 1_048_576 + 1, 1).toString('base64');
    for (const [path, param, body] of FIELDS.slice(0, 3))
      expect(await post(path, body(large))).toMatchObject({
        status: 413,
        body: { error: `${param} exceeds the maximum size of 20 MB`, code: 'payload_too_large', param },
      });
    // Far over it, where the body may still hold it: what no field takes is not read to its end.
    const [path, param, body] = FIELDS[0] as Field;
    for (const [mb, limit] of [
      [26, 20],
      [40, 36],
    ] as const)
      expect(await post(path, body(Buffer.alloc(mb * 1_048_576).toString('base64')))).toMatchObject({
        status: 413,
        body: { error: `${param} exceeds the maximum size of ${limit} MB`, code: 'payload_too_large', param },
      });
  });
});

describe('a data: URL without base64', () => {
  const encoded = (bytes: Buffer) =>
    [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

  it('holds a file’s bytes percent-encoded, in every field', async () => {
    const png = `data:image/png,${encoded(await plain(32, 32))}`;
    for (const at of [0, 2, 7, 8, 9]) {
      const [path, , body] = FIELDS[at] as Field;
      expect([path, (await post(path, body(png))).status]).toEqual([path, 200]);
    }
    const [path, , body] = FIELDS[6] as Field;
    expect(await post(path, body(`data:,${encoded(waveOf(new Int16Array(800)))}`))).toMatchObject({
      status: 200,
    });
  });

  it('is seen by a chat’s model as the picture that it is', async () => {
    const [path, , body] = FIELDS[7] as Field;
    const ask = async (url: string) =>
      (await server.rest<{ choices: object[] }>('POST', path, { key: org.key, body: body(url) })).body
        .choices;
    const png = await plain(32, 32);
    expect(JSON.stringify(await ask(`data:image/png,${encoded(png)}`))).toContain('32 × 32');
  });

  it('is refused where its encoding is broken, or the bytes are no picture', async () => {
    const png = encoded(await plain(32, 32));
    for (const broken of [`${png}%zz`, `${png}%4`, `${png}%`]) {
      for (const [path, param, body] of [FIELDS[0] as Field, FIELDS[2] as Field])
        expect(await post(path, body(`data:image/png,${broken}`))).toMatchObject({
          status: 400,
          body: { error: `${param} ${NOT_DATA}`, param },
        });
      const [path, param, body] = FIELDS[7] as Field;
      expect(await post(path, body(`data:image/png,${broken}`))).toMatchObject({
        status: 400,
        body: { param },
      });
    }
    const [path, param, body] = FIELDS[7] as Field;
    expect(await post(path, body(`data:image/png,${encodeURIComponent('<svg/>')}`))).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^messages.* must be a JPEG/) as string, param },
    });
  });
});

describe('sound', () => {
  const [music, speech, transcription] = FIELDS.slice(4, 7) as [Field, Field, Field];

  it.each([music, speech, transcription])(
    'on %s in %s: junk, cut off, a bomb and too much are refused',
    async (path, param, body) => {
      const ask = async (bytes: Buffer) => {
        const { status, body: answer } = await post(`${path}?async=true`, body(bytes.toString('base64')));
        return [status, answer.param, answer.error];
      };
      expect(await ask(Buffer.from('no sound at all, only words'))).toEqual([
        400,
        param,
        expect.stringMatching(/must be audio/) as string,
      ]);
      expect(await ask(Buffer.from('RIFF\xff\xff\x00\x00WAVEfmt ', 'latin1'))).toEqual([
        400,
        param,
        expect.stringMatching(/must be audio/) as string,
      ]);
      // A day of silence in a megabyte: gigabytes once it is decoded.
      expect(await ask(silentFlacOf(24_000))).toEqual([
        400,
        param,
        expect.stringMatching(/exceeds the maximum duration/) as string,
      ]);
      expect(await ask(Buffer.alloc(25 * 1_048_576 + 1, 1))).toEqual([
        413,
        param,
        `${param} exceeds the maximum size of 25 MB`,
      ]);
    },
  );
});

it('sound of a codec that the model does not read is refused before there is a job', async () => {
  const file = await m4aOf(new Int16Array(16_000));
  for (const box of ['mp4a', 'esds']) file.write('alac', file.indexOf(box), 'latin1');
  for (const [path, param, body] of FIELDS.slice(4, 7)) {
    const answer = await post(`${path}?async=true`, body(file.toString('base64')));
    expect([answer.status, answer.body.param]).toEqual([400, param]);
    expect(answer.body.error).toMatch(/^Model sandbox\/\S+ cannot read this audio$/);
  }
});

it('sound that is broken where its reader would search for ever is refused, each in its turn', async () => {
  const samples = new Int16Array(16_000);
  const flac = flacOf(samples);
  const webm = await webmOf(await opusOf());
  const cluster = webm.indexOf('1f43b675', 0, 'hex');
  const mp4 = await m4aOf(samples);
  mp4.writeUInt32BE(0xffffffff, mp4.indexOf('stsc') + 16);
  const broken = [
    flac.fill(0, 42),
    Buffer.concat([webm.subarray(0, cluster), Buffer.alloc(500)]),
    Buffer.concat([webm.subarray(0, cluster + 4), Buffer.alloc(500)]),
    mp4,
  ];
  for (const file of broken)
    expect(await post('/audio/transcriptions', { file: file.toString('base64') })).toMatchObject({
      status: 400,
      body: { param: 'file' },
    });
});

it('Apple Lossless is read as any sound', async () => {
  const file = readFileSync(new URL('../support/fixtures/lossless.m4a', import.meta.url)).toString('base64');
  const answer = await post('/audio/transcriptions', { file });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ duration: 0.875, usage: { seconds_used: 1 } });
});

async function opusOf(): Promise<Buffer> {
  const { body } = await server.rest<{ audio_url: string }>('POST', '/audio/speech', {
    key: org.key,
    body: { input: 'Water', response_format: 'opus' },
  });
  return (await downloadFrom(server.origin, body.audio_url)).bytes;
}

it('a transcription tells the times that a file shows, without what its encoder put before the sound', async () => {
  const ask = async <T>(path: string, body: object) =>
    (await server.rest<T>('POST', path, { key: org.key, body })).body;
  const { audio_url } = await ask<{ audio_url: string }>('/audio/speech', {
    input: 'Water turns the wheel.',
    response_format: 'wav',
  });
  const spoken = samplesOf((await downloadFrom(server.origin, audio_url)).bytes);
  const whole = await m4aOf(Int16Array.from([...new Int16Array(16_000), ...spoken]));
  const timesOf = async (file: Buffer) => {
    const { duration, segments } = await ask<{
      duration: number;
      segments: { start: number; end: number }[];
    }>('/audio/transcriptions', { file: file.toString('base64') });
    return { duration, start: segments[0]?.start ?? 0, end: segments.at(-1)?.end };
  };
  const [told, shown] = [await timesOf(whole), await timesOf(shownFrom(whole, 8_000))];
  expect(told.duration - shown.duration).toBeCloseTo(0.5, 2);
  expect(told.start - shown.start).toBeCloseTo(0.5, 1);
  expect(shown.end).toBeLessThanOrEqual(shown.duration);
});

it('a form ignores no file: one of another name and a second one are refused; the right one may come as text too', async () => {
  const ask = async (parts: Record<string, string | Blob | Blob[]>) => {
    const form = new FormData();
    for (const [name, values] of Object.entries(parts))
      for (const value of [values].flat()) form.append(name, value);
    const headers = { authorization: `Bearer ${org.key}` };
    const url = `${server.origin}/api/v1/audio/transcriptions`;
    const answer = await fetch(url, { method: 'POST', headers, body: form });
    const { error, param } = (await answer.json()) as { error?: string; param?: string };
    return [answer.status, error, param];
  };
  const wave = waveOf(new Int16Array(48_000));
  const file = new Blob([new Uint8Array(wave)]);
  expect(await ask({ file, mask: file })).toEqual([400, 'Unknown parameter: mask', 'mask']);
  expect(await ask({ file, model: file })).toEqual([400, 'model must be a string', 'model']);
  expect(await ask({ file: [file, file] })).toEqual([400, 'file must be one file', 'file']);
  // Longer than a form's other fields get.
  const text = wave.toString('base64');
  expect(text.length).toBeGreaterThan(65_536);
  expect(await ask({ file: text })).toEqual([200, undefined, undefined]);
});

it('model_inputs in a form is held to what it is held to in a JSON body', async () => {
  const file = waveOf(new Int16Array(800));
  const told = async (body: FormData | string, type: object) => {
    const headers = { authorization: `Bearer ${org.key}`, ...type };
    const url = `${server.origin}/api/v1/audio/transcriptions`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    const { error, param } = (await answer.json()) as { error?: string; param?: string };
    return { status: answer.status, error, param };
  };
  const both = async (inputs: string) => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(file)]));
    form.append('model_inputs', inputs);
    const json = `{"file":"${file.toString('base64')}","model_inputs":${inputs}}`;
    const asForm = await told(form, {});
    expect(asForm).toEqual(await told(json, { 'content-type': 'application/json' }));
    return asForm;
  };
  const text = 'Strings must not contain \\u0000 or lone surrogates';
  for (const escape of ['\\u0000', '\\ud800'])
    for (const inputs of [`{"directive":"${escape}"}`, `{"${escape}":1}`, `"${escape}"`])
      expect(await both(inputs)).toEqual({ status: 400, error: text, param: 'model_inputs' });
  const nested = (levels: number) => `{"directive":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  for (const levels of [498, 499, 60_000])
    expect(await both(nested(levels))).toMatchObject({
      status: 400,
      error: levels === 498 ? expect.stringContaining('directive') : 'JSON is nested too deeply',
    });
  const names = Array.from({ length: 200_001 }, (_, at) => `"${at}":1`).join();
  expect(await both(`{${names}}`)).toMatchObject({ status: 400, error: 'JSON has too many members' });
  expect(await both('{"__proto__":{"directive":"x"}}')).toMatchObject({ status: 200 });
  expect(await both('7')).toMatchObject({ status: 400, error: 'model_inputs must be an object' });
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]));
  form.append('model_inputs', '{oops');
  expect(await told(form, {})).toEqual({
    status: 400,
    error: 'model_inputs must be an object',
    param: 'model_inputs',
  });
});

it('a video that is cut off is refused before any work', async () => {
  const head = Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42\0\0\xff\xffmoov', 'latin1').toString('base64');
  const [path, param, body] = FIELDS[3] as Field;
  expect(await post(`${path}?async=true`, body(head))).toMatchObject({
    status: 400,
    body: { error: 'source_video must be a video: MP4, MOV, WebM or Matroska', param },
  });
});
