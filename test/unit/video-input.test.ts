import { describe, expect, it } from 'vitest';
import { parseVideoInput, priceOfVideo, videoDimensions } from '../../src/generation/video/input.js';
import type { Model } from '../../src/models/models.types.js';

const model = (more: Partial<Model> = {}): Model => ({
  id: 'sandbox/video-standard',
  provider: 'sandbox',
  name: 'video-standard',
  ownedBy: 'sandbox',
  created: 0,
  type: 'video',
  tier: 'standard',
  multiplier: 150,
  pricing: { unit: 'second', bucket: 'video_seconds', amount: 1, credits: 0.1 },
  contextWindow: null,
  maxOutputTokens: null,
  modalities: { input: ['text'], output: ['video'] },
  imageTokens: 0,
  default: true,
  available: true,
  upstream: null,
  maxDurationSeconds: null,
  cost: [],
  ...more,
});
const refusal = (body: object, of = model()) => {
  try {
    parseVideoInput({ prompt: 'x', ...body }, of);
  } catch (error) {
    return (error as Error).message;
  }
  return null;
};

describe('the price of a video', () => {
  it.each([
    [1, 100, 1, 1],
    [5, 100, 5, 1],
    [5, 150, 5, 1],
    [5.2, 150, 6, 1],
    [10, 100, 10, 1],
    [10, 150, 10, 2],
    [10.01, 100, 11, 2],
    [30, 200, 30, 6],
    [60, 150, 60, 9],
    [60, 200, 60, 12],
  ])('%s seconds × %s hundredths: %s seconds and %s credits', (duration, multiplier, seconds, credits) => {
    const input = parseVideoInput({ prompt: 'x', duration_seconds: duration }, model());
    expect(priceOfVideo(input, model({ multiplier }))).toEqual({
      video_seconds: seconds * 100,
      credits: credits * 100,
    });
  });
});

describe('the size of a video', () => {
  it.each([
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['720p', '1:1', 720, 720],
    ['720p', '4:3', 960, 720],
    ['720p', '3:4', 720, 960],
    ['1080p', '16:9', 1920, 1080],
    ['1080p', '3:4', 1080, 1440],
    ['4k', '16:9', 3840, 2160],
    ['4k', '9:16', 2160, 3840],
    ['4k', '4:3', 2880, 2160],
  ] as const)('%s at %s is %s by %s', (resolution, aspect_ratio, width, height) => {
    expect(videoDimensions({ resolution, aspect_ratio })).toEqual({ width, height });
  });
});

describe('a model that does not say what it can do', () => {
  it.each([
    [{ fps: 60 }, 'Model sandbox/video-standard does not support 60 fps'],
    [{ loop: true }, 'Model sandbox/video-standard does not support loop'],
    [{ prompt_optimizer: true }, 'Model sandbox/video-standard does not support prompt_optimizer'],
    [{ negative_prompt: 'rain' }, 'Model sandbox/video-standard does not support negative_prompt'],
    [
      { mode: 'video_to_video', source_video: 'AAAA' },
      'Model sandbox/video-standard does not support video_to_video',
    ],
  ])('refuses %j', (body, message) => {
    expect(refusal(body)).toBe(message);
  });

  it('gets no optimizer and no loop by default, and no more seconds than it makes', () => {
    const short = model({ maxDurationSeconds: 4 });
    expect(parseVideoInput({ prompt: 'x' }, short)).toEqual({
      prompt: 'x',
      duration_seconds: 4,
      resolution: '720p',
      fps: 30,
      aspect_ratio: '16:9',
      mode: 'text_to_video',
      prompt_optimizer: false,
      loop: false,
    });
    expect(refusal({ duration_seconds: 5 }, short)).toBe('duration_seconds must be between 1 and 4');
  });
});
