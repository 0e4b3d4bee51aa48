import { parseBuffer } from 'music-metadata';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadFrom } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Music {
  created: number;
  data: { audio_url: string; duration_seconds: number };
  model: string;
  model_tier: string;
  usage: { tracks_used: number; quota_multiplier: number; tracks_remaining: number };
}

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let free: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock({
    plans: {
      endpointLimits: { music: { limit: 1000, windowSeconds: 60 } },
      plans: { business_monthly: { limits: { music_tracks: 1000 } } },
    },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  free = await server.createOrg({ plan: 'free' });
});
afterAll(() => server?.close());

async function make(body: object): Promise<Music & { bytes: Buffer; type: string | null }> {
  const answer = await server.rest<Music>('POST', '/music/generations', { key: org.key, body });
  expect(answer.body).not.toHaveProperty('error');
  return { ...answer.body, ...(await downloadFrom(server.origin, answer.body.data.audio_url)) };
}

/** 5 s of WAV, cheap to look at. */
const sketch = (body: object) => make({ duration_seconds: 5, output_format: 'wav', ...body });

/** The left channel of the sandbox's stereo WAV. */
function left(wave: Buffer): Float64Array {
  return Float64Array.from(
    { length: (wave.length - 44) >> 2 },
    (_, at) => wave.readInt16LE(44 + 4 * at) / 32_768,
  );
}

/** How strongly the loudness repeats with so many beats a minute. */
function pulse(wave: Buffer, tempo: number): number {
  const samples = left(wave);
  const step = 441;
  const rises: number[] = [];
  let before = 0;
  for (let at = 0; at + step < samples.length; at += step) {
    let energy = 0;
    for (let index = at; index < at + step; index++) energy += (samples[index] ?? 0) ** 2;
    rises.push(Math.max(0, energy - before));
    before = energy;
  }
  const lag = Math.round(6000 / tempo);
  let sum = 0;
  for (let at = 0; at + lag < rises.length; at++) sum += (rises[at] ?? 0) * (rises[at + lag] ?? 0);
  return sum / rises.reduce((total, rise) => total + rise * rise, 1e-9);
}

const noisiness = (wave: Buffer): number => {
  const samples = left(wave);
  let change = 0;
  let energy = 1e-9;
  for (let at = 1; at < samples.length; at++) {
    change += ((samples[at] ?? 0) - (samples[at - 1] ?? 0)) ** 2;
    energy += (samples[at] ?? 0) ** 2;
  }
  return change / energy;
};

describe('music', () => {
  it('answers as the contract has it, one track charged by the tier', async () => {
    const { bytes: _, type, ...answer } = await make({ prompt: 'a calm piano piece', duration_seconds: 3 });
    expect(type).toBe('audio/mpeg');
    expect(answer).toEqual({
      created: expect.any(Number) as number,
      data: { audio_url: expect.stringContaining('.mp3') as string, duration_seconds: 3 },
      model: 'sandbox/music-standard',
      model_tier: 'standard',
      usage: { tracks_used: 1.5, quota_multiplier: 1.5, tracks_remaining: expect.any(Number) as number },
    });
  });

  it.each([
    ['mp3', undefined, 30, 'MPEG'],
    ['mp3', 47, 47, 'MPEG'],
    ['wav', 12.5, 12.5, 'WAVE'],
  ])('comes as %s of exactly the asked %d seconds', async (format, asked, seconds, container) => {
    const { bytes, data } = await make({
      prompt: 'upbeat dance',
      output_format: format,
      duration_seconds: asked,
    });
    const { format: found } = await parseBuffer(bytes, undefined, { duration: true });
    expect(found.container).toMatch(container);
    expect(found.numberOfChannels).toBe(2);
    expect(data.duration_seconds).toBe(seconds);
    expect(Math.abs((found.duration ?? 0) - seconds)).toBeLessThan(format === 'wav' ? 0.001 : 0.02);
  });

  it('is the same for the same prompt and seed, another for another', async () => {
    const prompt = 'lo-fi beat';
    const [one, again, other, words] = [
      await sketch({ prompt, model_inputs: { seed: 7 } }),
      await sketch({ prompt, model_inputs: { seed: 7 } }),
      await sketch({ prompt, model_inputs: { seed: 8 } }),
      await sketch({ prompt: 'lo-fi beats', model_inputs: { seed: 7 } }),
    ];
    expect(again.bytes.equals(one.bytes)).toBe(true);
    expect(other.bytes.equals(one.bytes)).toBe(false);
    expect(words.bytes.equals(one.bytes)).toBe(false);
  });

  it('follows the words of its prompt: tempo', async () => {
    const at = (tempo: number) =>
      make({ prompt: `techno with drums, ${tempo} bpm`, duration_seconds: 12, output_format: 'wav' });
    const [slow, fast] = [await at(90), await at(140)];
    expect(pulse(slow.bytes, 90)).toBeGreaterThan(pulse(slow.bytes, 140));
    expect(pulse(fast.bytes, 140)).toBeGreaterThan(pulse(fast.bytes, 90));
  });

  it('leaves out what the negative prompt names', async () => {
    const prompt = 'energetic rock with drums';
    const [all, bare] = [await sketch({ prompt }), await sketch({ prompt, negative_prompt: 'drums' })];
    expect(noisiness(bare.bytes)).toBeLessThan(noisiness(all.bytes));
  });

  it('varies a given recording', async () => {
    const source = await sketch({ prompt: 'solo flute, sad' });
    const [varied, other] = [
      await sketch({ prompt: 'strings', mode: 'audio_to_audio', source_audio: source.data.audio_url }),
      await sketch({ prompt: 'strings' }),
    ];
    expect(varied.data.duration_seconds).toBe(5);
    expect(varied.bytes.equals(other.bytes)).toBe(false);
    expect(varied.bytes.equals(source.bytes)).toBe(false);
  });

  it('is made by a job with the outputData of the contract, whose progress moves', async () => {
    const made = await server.rest<{ id: string }>('POST', '/music/generations?async=true', {
      key: org.key,
      body: { prompt: 'march @sandbox{"delay_ms":700}', duration_seconds: 20 },
    });
    const { events } = await server.events('GET', `/jobs/${made.body.id}/stream`, { key: org.key });
    const seen: { type: string; job: { progress: number; outputData: object | null } }[] = [];
    for await (const { data } of events) seen.push(JSON.parse(data) as (typeof seen)[number]);
    const progress = seen.map(({ job }) => job.progress);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(new Set(progress).size).toBeGreaterThan(3);
    expect(seen.at(-1)).toMatchObject({
      type: 'job.completed',
      job: {
        outputData: { audio: { url: expect.stringContaining('.mp3') as string, duration_seconds: 20 } },
      },
    });
  });

  it('is the same by GraphQL, and its price is told beforehand', async () => {
    const input = { prompt: 'bells', durationSeconds: 2, outputFormat: 'wav', modelInputs: { seed: 1 } };
    const { data, errors } = await server.graphql(
      `mutation ($input: GenerateMusicInput!) { generateMusic(input: $input) {
        data { durationSeconds } modelTier usage { tracksUsed quotaMultiplier } } }`,
      { key: org.key, variables: { input } },
    );
    expect(errors).toEqual([]);
    expect(data).toEqual({
      generateMusic: {
        data: { durationSeconds: 2 },
        modelTier: 'standard',
        usage: { tracksUsed: 1.5, quotaMultiplier: 1.5 },
      },
    });
    const estimate = await server.graphql(
      `query ($music: GenerateMusicInput!) { estimate(input: { music: $music }) { amounts { bucket amount } } }`,
      { key: org.key, variables: { music: input } },
    );
    expect(estimate.data).toEqual({ estimate: { amounts: [{ bucket: 'music_tracks', amount: 1.5 }] } });
  });
});

describe('music is refused', () => {
  it.each<[object, string, string]>([
    [{}, 'prompt is required', 'prompt'],
    [{ prompt: ' ' }, 'prompt is required', 'prompt'],
    [{ prompt: 'a', duration_seconds: 48 }, 'duration_seconds exceeds maximum', 'duration_seconds'],
    [
      { prompt: 'a', model: 'sandbox/music-powerful', duration_seconds: 61 },
      'duration_seconds exceeds maximum',
      'duration_seconds',
    ],
    [
      { prompt: 'a', duration_seconds: 0 },
      'duration_seconds must be a number of at least 1',
      'duration_seconds',
    ],
    [{ prompt: 'a', output_format: 'ogg' }, 'output_format must be one of mp3, wav', 'output_format'],
    [{ prompt: 'a', mode: 'audio_to_audio' }, 'source_audio is required for audio_to_audio', 'source_audio'],
    [{ prompt: 'a', source_audio: 'AAAA' }, 'source_audio needs mode audio_to_audio', 'source_audio'],
    [
      { prompt: 'a', mode: 'audio_to_audio', source_audio: 'https://localhost./a' },
      'Invalid URL',
      'source_audio',
    ],
    [{ prompt: 'a', model_inputs: { steps: 3 } }, 'Unknown model input: steps', 'model_inputs'],
    [{ prompt: 'a', seed: 3 }, 'Unknown parameter: seed', 'seed'],
  ])('%#', async (body, error, param) => {
    expect(await server.rest('POST', '/music/generations', { key: org.key, body })).toMatchObject({
      status: 400,
      body: { error, param },
    });
  });

  it('where the plan does not allow the tier, or the tracks are used up', async () => {
    const refuse = (more: object) =>
      server.rest('POST', '/music/generations', { key: free.key, body: { prompt: 'a', ...more } });
    expect(await refuse({})).toMatchObject({ status: 403, body: { error: 'Model tier not allowed' } });
    expect(await refuse({ model: 'sandbox/music-basic' })).toMatchObject({
      status: 402,
      body: { error: 'Music track limit exceeded' },
    });
  });
});
