import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withTrueSizes } from '../../src/audio/decode/true-file.js';
import { createAudio } from '../../src/audio/index.js';
import { createSound } from '../../src/sandbox/sound/sound.js';
import { downloadFrom, flacOf, m4aOf, samplesOf, waveOf, webmOf } from '../support/audio.js';
import {
  adtsWith,
  hurried,
  lyingWave,
  mp3Claiming,
  oggEndingAt,
  patched,
  riffChunk,
} from '../support/malformed-audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

const TEXT = 'The quick brown fox jumps over the lazy dog. Then it sleeps in the warm sun.';
const MAX_SIZE = 0xffff_ffff;
const RATE = 16_000;

const audio = createAudio();
const sandbox = createSound();
const spoken = new Map<string, Buffer>();
let samples: Int16Array;
let seconds: number;
let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({ plans: { endpointLimits: { tts: window, stt: window } } });
  org = await server.createOrg({ plan: 'business_monthly' });
  for (const format of ['wav', 'mp3', 'opus', 'aac'] as const) {
    const made = await sandbox.speak({
      text: TEXT,
      voice: 'nova',
      engine: 'quick',
      reference: null,
      speed: 1,
      seed: 1,
      format,
    });
    spoken.set(format, made.bytes);
  }
  samples = samplesOf(sound('wav'));
  seconds = samples.length / RATE;
}, 60_000);
afterAll(async () => {
  audio.close();
  sandbox.close();
  await server?.close();
});

const sound = (format: string): Buffer => spoken.get(format) ?? Buffer.alloc(0);
const LIST = riffChunk('LIST', Buffer.from('INFOISFT\x05\0\0\0abcd\0\0', 'latin1'));

/** Mono at 48 kHz. */
const WRONG_FORMAT = Buffer.from('0100010080bb0000007701000200' + '1000', 'hex');

/** Heads of WAV files that say something else than what lies behind them. */
const WAVES: [string, Parameters<typeof lyingWave>[1]][] = [
  ['the whole is 1000 bytes', { riffSize: 1000 }],
  ['the whole is nothing', { riffSize: 0 }],
  ['the whole is 4 GB', { riffSize: MAX_SIZE }],
  ['the sound is nothing', { dataSize: 0, riffSize: 0 }],
  ['the sound is 4 GB, as it is written to a pipe', { dataSize: MAX_SIZE, riffSize: MAX_SIZE }],
  ['the sound is 2 GB', { dataSize: 0x7fff_ffff }],
  ['the sound is a second', { dataSize: 2 * RATE }],
  ['the sound is one byte', { dataSize: 1 }],
  ['the sound is a second, and another chunk follows', { dataSize: 2 * RATE, after: [LIST] }],
  ['a block is a hundred samples', { format: [[12, 200]] }],
  ['a block is a second', { format: [[12, 32_000]] }],
  ['other chunks come first', { before: [LIST, riffChunk('JUNK', Buffer.alloc(29))] }],
  ['an odd chunk comes first, unpadded', { before: [riffChunk('JUNK', Buffer.alloc(29)).subarray(0, 37)] }],
  ['a chunk before it goes beyond the end', { before: [], after: [riffChunk('LIST', Buffer.alloc(4), 1e9)] }],
  ['another format follows', { after: [riffChunk('fmt ', WRONG_FORMAT)] }],
  ['another format follows, before the sound', { between: [riffChunk('fmt ', WRONG_FORMAT)] }],
  ['it is long', { form: 'RF64', dataSize: MAX_SIZE, riffSize: MAX_SIZE }],
];

describe('the seconds of a WAV are those of its sound', () => {
  it.each(WAVES)('where its head says that %s', async (_, parts) => {
    const file = lyingWave(samples, parts);
    const { durationSeconds, contentType } = await audio.probe(file);
    expect(contentType).toBe('audio/wav');
    expect(Math.abs(durationSeconds - seconds)).toBeLessThan(0.01);
    const stored = Buffer.from(withTrueSizes(file));
    expect(stored.readUInt32LE(4)).toBe(stored.length - 8);
    const at = stored.indexOf('data', 0, 'latin1');
    expect(Math.abs(stored.readUInt32LE(at + 4) - 2 * samples.length)).toBeLessThan(100);
    expect(withTrueSizes(stored)).toBe(stored);
  });

  it.each([1, 2, 3, 7, 59])('and whole where they are: %i', async (whole) => {
    for (const rate of [8000, 16_000, 44_100, 48_000, 96_000]) {
      const file = lyingWave(new Int16Array(whole * rate), {
        format: [
          [4, rate & 0xffff],
          [6, rate >>> 16],
        ],
        dataSize: 4,
      });
      expect((await audio.probe(file)).durationSeconds).toBe(whole);
    }
  });

  it('in every part, where there are several', async () => {
    const pcm = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    const { durationSeconds } = await audio.probe(
      lyingWave(samples, { after: [LIST, riffChunk('data', pcm)] }),
    );
    expect(durationSeconds).toBeCloseTo(2 * seconds, 2);
  });

  it('and a head that tells the truth is left as it is, with all that stands beside the sound', () => {
    for (const file of [waveOf(samples), sound('wav'), lyingWave(samples, { before: [LIST], after: [LIST] })])
      expect(withTrueSizes(file)).toBe(file);
    for (const other of [sound('mp3'), Buffer.from('RIFF'), Buffer.from('RIFF\0\0\0\0WAVE'), Buffer.alloc(0)])
      expect(withTrueSizes(other)).toBe(other);
  });
});

const ID3 = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 10, ...Array<number>(10).fill(1)]);

type Forged = () => Buffer | Promise<Buffer>;
const FORGED: [string, Forged][] = [
  ['MP3 that counts ten frames', () => mp3Claiming(sound('mp3'), { frames: 10, rate: RATE })],
  ['MP3 that counts a billion', () => mp3Claiming(sound('mp3'), { frames: 1e9, rate: RATE })],
  ['MP3 behind a tag', () => mp3Claiming(sound('mp3'), { frames: 1, tag: 3000, rate: RATE })],
  ['Ogg that ends after a twelfth of a second', () => oggEndingAt(sound('opus'), 4000n)],
  ['Ogg that ends after a day', () => oggEndingAt(sound('opus'), 48_000n * 86_400n)],
  ['Ogg whose last page tells no end', () => oggEndingAt(sound('opus'), -1n, 1)],
  ...[1, 3, 700, 5000, 100_000].flatMap((size): [string, Forged][] =>
    (['mp3', 'aac', 'opus'] as const).flatMap((format): [string, Forged][] => [
      [`${format} behind ${size} zeros`, () => Buffer.concat([Buffer.alloc(size), sound(format)])],
      [
        `${format} behind ${size} bytes of 255`,
        () => Buffer.concat([Buffer.alloc(size, 255), sound(format)]),
      ],
      [`${format} behind ${size} letters`, () => Buffer.concat([Buffer.alloc(size, 'ice '), sound(format)])],
    ]),
  ),
  ['FLAC of a hundred samples', () => patched(flacOf(samples), 'fLaC', [4 + 4 + 14, 100])],
  ['FLAC of a billion samples', () => patched(flacOf(samples), 'fLaC', [4 + 4 + 14, 1e9])],
  ['MP4 of AAC in no time', async () => await hurried(await m4aOf(samples), 'mp4')],
  ['MP4 of Opus in no time', async () => await hurried(sound('opus'), 'mp4')],
  ['MP4 of MP3 in no time', async () => await hurried(sound('mp3'), 'mp4')],
  ['MP4 of FLAC in no time', async () => await hurried(flacOf(samples), 'mp4')],
  ['MP4 whose movie lasts a second', async () => patched(await m4aOf(samples), 'mvhd', [20, 1000])],
  ['MP4 whose track lasts a second', async () => patched(await m4aOf(samples), 'mdhd', [20, 16_000])],
  ['WebM in no time', async () => await hurried(sound('opus'), 'webm')],
  ['Matroska of MP3 in no time', async () => await hurried(sound('mp3'), 'mkv')],
  ['Matroska of AAC in no time', async () => await hurried(sound('aac'), 'mkv')],
  ['WebM as it should be', async () => await webmOf(sound('opus'))],
  ['ADTS', () => sound('aac')],
  ...[1, 7, 500, 20_000].map((size): [string, Forged] => [
    `ADTS with ${size} bytes between its frames`,
    () => adtsWith(sound('aac'), Buffer.alloc(size, 0xff)),
  ]),
  ['ADTS with a tag and zeros', () => adtsWith(Buffer.concat([ID3, sound('aac')]), Buffer.alloc(300))],
  ...[0, 1, 30].map((count): [string, Forged] => [
    `MP4 whose times are those of ${count} samples`,
    async () => patched(await m4aOf(samples), 'stts', [12, count]),
  ]),
];

describe('the seconds of a sound are those that a decoder makes of it', () => {
  it.each(FORGED)('%s', async (_, forged) => {
    const { durationSeconds, readable } = await audio.probe(await forged());
    expect(readable).toBe(true);
    // Encoders fill up their first and last packets.
    expect(Math.abs(durationSeconds - seconds)).toBeLessThan(0.15);
  });

  it.each(['mp3', 'opus', 'aac'])(
    'also of five minutes in many files behind each other: %s',
    async (format) => {
      const times = Math.ceil(300 / seconds);
      const { durationSeconds } = await audio.probe(
        Buffer.concat(Array.from({ length: times }, () => sound(format))),
      );
      expect(durationSeconds / times).toBeGreaterThan(seconds - 0.01);
      expect(durationSeconds / times).toBeLessThan(seconds + 0.15);
    },
  );
});

it('is stored as every reader hears it, and that is left as it is', async () => {
  for (const file of [
    adtsWith(sound('aac'), Buffer.alloc(300)),
    patched(await m4aOf(samples), 'stts', [12, 1]),
    lyingWave(samples, { between: [riffChunk('fmt ', WRONG_FORMAT)] }),
  ]) {
    const stored = withTrueSizes(file);
    expect(stored).not.toBe(file);
    expect(withTrueSizes(stored)).toBe(stored);
  }
  expect(Buffer.from(withTrueSizes(adtsWith(sound('aac'), Buffer.alloc(300))))).toEqual(sound('aac'));
  for (const file of [sound('aac'), await m4aOf(samples), sound('mp3'), sound('opus'), flacOf(samples)])
    expect(withTrueSizes(file)).toBe(file);
});

describe('a transcription', () => {
  const transcribe = (body: object) =>
    server.rest<{ text: string; duration: number; usage: { seconds_used: number } }>(
      'POST',
      '/audio/transcriptions',
      { key: org.key, body },
    );

  it.each<[string, () => Buffer]>([
    ['WAV', () => lyingWave(samples, { riffSize: 1000, dataSize: 2 * RATE })],
    ['streamed WAV', () => lyingWave(samples, { riffSize: MAX_SIZE, dataSize: MAX_SIZE })],
    ['Ogg', () => oggEndingAt(sound('opus'), 4000n)],
  ])('is charged for all that it answers, and estimated so: %s', async (_, forged) => {
    const file = forged().toString('base64');
    const { status, body } = await transcribe({ file });
    expect(status).toBe(200);
    expect(body.duration).toBeCloseTo(seconds, 1);
    expect(body.usage.seconds_used).toBe(Math.ceil(body.duration));
    const estimate = await server.graphql<{ estimate: { amounts: { bucket: string; amount: number }[] } }>(
      `query ($input: CreateTranscriptionInput!) { estimate(input: { transcription: $input }) { amounts { bucket amount } } }`,
      { key: org.key, variables: { input: { file } } },
    );
    expect(estimate.data?.estimate.amounts).toContainEqual({
      bucket: 'stt_seconds',
      amount: body.usage.seconds_used,
    });
  });

  it('stores what it was given with its true sizes', async () => {
    const file = lyingWave(samples, { riffSize: MAX_SIZE, dataSize: MAX_SIZE }).toString('base64');
    await transcribe({ file });
    const { body } = await server.rest<{ jobs: { inputParams: { file: string } }[] }>(
      'GET',
      '/jobs?limit=1',
      {
        key: org.key,
      },
    );
    const stored = await downloadFrom(server.origin, body.jobs[0]?.inputParams.file ?? '');
    expect(stored.bytes.equals(waveOf(samples))).toBe(true);
  });
});
