import { readFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { framesOf, readMp4 } from '../support/mp4.js';
import { startPenstock, type TestServer } from '../support/server.js';

// Films take their time, and more of it beside other work.
vi.setConfig({ testTimeout: 60_000 });

interface VideoAnswer {
  id?: string;
  status?: string;
  estimated_credits?: number;
  created: number;
  data: { url: string; duration_seconds: number; width: number; height: number };
  model: string;
  model_tier: string;
  usage: { credits_used: number; seconds_used: number; seconds_remaining: number };
}

const PROMPT = 'A lighthouse above a calm sea';
const run = promisify(execFile);
let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let hasFfprobe = false;

beforeAll(async () => {
  server = await startPenstock({ plans: { endpointLimits: { video: { limit: 1000, windowSeconds: 60 } } } });
  org = await server.createOrg({ plan: 'business_monthly' });
  hasFfprobe = await run('ffprobe', ['-version']).then(
    () => true,
    () => false,
  );
});
afterAll(() => server?.close());

const post = (body: object, query = '') =>
  server.rest<VideoAnswer>('POST', `/videos/generations${query}`, {
    key: org.key,
    body: { prompt: PROMPT, ...body },
  });

async function make(body: object): Promise<{ answer: VideoAnswer; bytes: Buffer }> {
  const { status, body: answer } = await post({ duration_seconds: 1, ...body });
  expect(answer).not.toHaveProperty('error');
  expect(status).toBe(200);
  const file = await fetch(answer.data.url);
  expect(file.headers.get('content-type')).toBe('video/mp4');
  return { answer, bytes: Buffer.from(await file.arrayBuffer()) };
}

async function refused(body: object): Promise<unknown> {
  const { status, body: answer } = await post(body);
  return [
    status,
    (answer as unknown as { error: string }).error,
    (answer as unknown as { param?: string }).param,
  ];
}

const picture = async (background = '#ff0000') =>
  (
    await sharp({ create: { width: 64, height: 64, channels: 3, background } })
      .png()
      .toBuffer()
  ).toString('base64');

describe('a video', () => {
  it('answers as the contract has it, is charged by the second, and is the MP4 that was asked for', async () => {
    const { answer, bytes } = await make({ duration_seconds: 1.5, seed: 3 });
    expect(answer).toEqual({
      created: expect.any(Number) as number,
      data: {
        url: expect.stringMatching(/\.mp4\?/) as string,
        duration_seconds: 1.5,
        width: 1280,
        height: 720,
      },
      model: 'sandbox/video-standard',
      model_tier: 'standard',
      usage: { credits_used: 1, seconds_used: 2, seconds_remaining: expect.any(Number) as number },
    });
    expect(readMp4(bytes)).toEqual({
      codec: 'avc1',
      width: 1280,
      height: 720,
      frames: 45,
      durationSeconds: 1.5,
    });
  });

  it('has the frame rate, the resolution and the shape that were asked for', async () => {
    const { bytes } = await make({ fps: 60, aspect_ratio: '3:4' });
    expect(readMp4(bytes)).toEqual({
      codec: 'avc1',
      width: 720,
      height: 960,
      frames: 60,
      durationSeconds: 1,
    });
    if (!hasFfprobe) return;
    const { stdout } = await run('ffprobe', [
      ...['-v', 'error', '-of', 'csv=p=0', '-show_entries', 'stream=codec_name,width,height,r_frame_rate'],
      (await make({ aspect_ratio: '1:1' })).answer.data.url,
    ]);
    expect(stdout.trim()).toBe('h264,720,720,30/1');
  });

  it('is the same for the same seed, and another for another', async () => {
    const film = async (seed: number) => (await make({ aspect_ratio: '1:1', seed })).bytes.length;
    const first = await film(1);
    expect(await film(1)).toBe(first);
    expect(await film(2)).not.toBe(first);
  });

  it('is filmed from the image that was given', async () => {
    const film = async (colour: string) =>
      (await make({ mode: 'image_to_video', source_image: await picture(colour), aspect_ratio: '1:1' }))
        .bytes;
    const [red, blue] = [await film('#ff0000'), await film('#0000ff')];
    expect(readMp4(red)).toMatchObject({ width: 720, height: 720, frames: 30 });
    const [[warm], [cold]] = [await framesOf(red, [10]), await framesOf(blue, [10])];
    expect(warm?.red).toBeGreaterThan((cold?.red ?? 0) + 40);
  });

  it('is filmed from the video that was given, again from its start where that is shorter', async () => {
    const source = await make({
      mode: 'image_to_video',
      source_image: await picture('#ff0000'),
      aspect_ratio: '1:1',
    });
    const { answer, bytes } = await make({
      mode: 'video_to_video',
      source_video: source.answer.data.url,
      aspect_ratio: '4:3',
      duration_seconds: 1.5,
    });
    expect(answer.data).toMatchObject({ width: 960, height: 720, duration_seconds: 1.5 });
    expect(readMp4(bytes)).toMatchObject({ width: 960, height: 720, frames: 45, durationSeconds: 1.5 });
    for (const frame of await framesOf(bytes, [5, 40])) expect(frame.red).toBeGreaterThan(170);
  });

  it('that loops ends where it began', async () => {
    const { bytes } = await make({ aspect_ratio: '1:1', seed: 7, loop: true });
    const [first, second, middle, last] = await framesOf(bytes, [0, 1, 15, 29]);
    const apart = (a: typeof first, b: typeof first) =>
      (a?.luma ?? []).reduce((sum, value, at) => sum + Math.abs(value - (b?.luma[at] ?? 0)), 0);
    expect(apart(last, first)).toBeLessThan(3 * apart(first, second) + 256);
    expect(apart(middle, first)).toBeGreaterThan(apart(last, first));
  });

  it('can be 4k, upright, with 60 frames a second', async () => {
    const { bytes } = await make({ resolution: '4k', aspect_ratio: '9:16', fps: 60 });
    expect(readMp4(bytes)).toEqual({
      codec: 'avc1',
      width: 2160,
      height: 3840,
      frames: 60,
      durationSeconds: 1,
    });
  });

  it('can be a job, made over GraphQL, whose output and parameters are the contract’s', async () => {
    const query = `mutation ($input: GenerateVideoInput!) {
      generateVideo(input: $input, async: true) { job { id status } data { url } usage { secondsUsed } }
    }`;
    const input = {
      prompt: PROMPT,
      durationSeconds: 1,
      aspectRatio: '1:1',
      loop: true,
      negativePrompt: 'rain',
    };
    const made = await server.graphql<{ generateVideo: { job: { id: string }; data: null } }>(query, {
      key: org.key,
      variables: { input },
    });
    expect(made.errors).toEqual([]);
    const id = made.data?.generateVideo.job.id ?? '';
    await expect
      .poll(
        async () =>
          (await server.rest<{ status: string }>('GET', `/jobs/${id}`, { key: org.key })).body.status,
        {
          timeout: 60_000,
          interval: 250,
        },
      )
      .toBe('completed');
    const { body: job } = await server.rest<Record<string, unknown>>('GET', `/jobs/${id}`, { key: org.key });
    expect(job['outputData']).toEqual({
      video: { url: expect.stringMatching(/\.mp4\?/) as string, duration: 1 },
    });
    expect(job['inputParams']).toMatchObject({
      prompt_optimizer: true,
      loop: true,
      resolution: '720p',
      fps: 30,
    });
  });

  it('is priced before it is made', async () => {
    const body = await server.graphql<{ estimate: { amounts: { bucket: string; amount: number }[] } }>(
      'query ($input: EstimateInput!) { estimate(input: $input) { amounts { bucket amount } } }',
      { key: org.key, variables: { input: { video: { prompt: PROMPT, durationSeconds: 10.5 } } } },
    );
    expect(body.data?.estimate.amounts).toEqual(
      expect.arrayContaining([
        { bucket: 'video_seconds', amount: 11 },
        { bucket: 'credits', amount: 2 },
      ]),
    );
  });
});

describe('what cannot be made', () => {
  it.each([
    [{ duration_seconds: 0.5 }, 'duration_seconds must be between 1 and 60', 'duration_seconds'],
    [{ duration_seconds: 61 }, 'duration_seconds must be between 1 and 60', 'duration_seconds'],
    [{ resolution: '480p' }, 'resolution must be one of 720p, 1080p, 4k', 'resolution'],
    [{ fps: 24 }, 'fps must be 30 or 60', 'fps'],
    [{ mode: 'image_to_video' }, 'source_image is required for image_to_video', 'source_image'],
    [{ mode: 'video_to_video' }, 'source_video is required for video_to_video', 'source_video'],
    [{ source_image: 'AAAA' }, 'source_image is not used by text_to_video', 'source_image'],
    [
      { mode: 'video_to_video', source_video: 'AAAA', loop: true },
      'Model sandbox/video-standard does not support loop with video_to_video',
      'loop',
    ],
    [{ mode: 'image_to_video', source_image: 'http://127.0.0.1/x.png' }, 'Invalid URL', 'source_image'],
    [
      { mode: 'image_to_video', source_image: Buffer.from('<svg/>').toString('base64') },
      'source_image must be a JPEG, PNG or WebP image',
      'source_image',
    ],
    [
      { mode: 'video_to_video', source_video: Buffer.from('no video at all').toString('base64') },
      'source_video must be a video: MP4, MOV, WebM or Matroska',
      'source_video',
    ],
    [{ colour: 'red' }, 'Unknown parameter: colour', 'colour'],
  ])('%j is refused with its reason', async (body, error, param) => {
    expect(await refused(body)).toEqual([400, error, param]);
  });

  it('a source of ten bits a colour, whose frames cannot be taken over, is refused at once', async () => {
    const fixture = new URL('../support/fixtures/ten-bit.mp4', import.meta.url);
    const source = (await readFile(fixture)).toString('base64');
    expect(await refused({ mode: 'video_to_video', source_video: source })).toEqual([
      400,
      'Model sandbox/video-standard cannot read this video',
      'source_video',
    ]);
  });

  it('fails as the directive says, and costs nothing', async () => {
    const { status, body } = await post({ prompt: '@sandbox{"fail":"rehearsal"} sea', duration_seconds: 1 });
    expect([status, body]).toMatchObject([500, { error: 'Generation failed' }]);
  });
});

describe('without the optional codec package', () => {
  it('videos are made, slower, and a source video is refused with the reason', async () => {
    const other = await startPenstock({ env: { NATIVE_CODECS: 'false' } });
    try {
      const { key } = await other.createOrg({ plan: 'business_monthly' });
      const ask = (body: object) =>
        other.rest<VideoAnswer>('POST', '/videos/generations', {
          key,
          body: { prompt: PROMPT, duration_seconds: 1, aspect_ratio: '1:1', ...body },
        });
      const made = await ask({ loop: true });
      const bytes = Buffer.from(await (await fetch(made.body.data.url)).arrayBuffer());
      expect(readMp4(bytes)).toMatchObject({ codec: 'avc1', width: 720, height: 720, frames: 30 });
      expect(await ask({ mode: 'video_to_video', source_video: bytes.toString('base64') })).toMatchObject({
        status: 400,
        body: { error: 'Model sandbox/video-standard cannot read this video', param: 'source_video' },
      });
    } finally {
      await other.close();
    }
  });
});
