import { describe, expect, it } from 'vitest';
import {
  baseCredits,
  dimensionsOf,
  parseImageInput,
  priceOfImages,
} from '../../src/generation/image/input.js';
import type { Model } from '../../src/models/models.types.js';

const modelWith = (multiplier: number, pricing: Partial<Model['pricing']> = {}) =>
  ({
    multiplier,
    pricing: { unit: 'image', bucket: 'image_generations', amount: 1, credits: 0.5, ...pricing },
  }) as Model;

const priceOf = (body: Record<string, unknown>, model = modelWith(100)) =>
  priceOfImages(parseImageInput({ prompt: 'a fox', ...body }), model);

describe('the price of images', () => {
  // n, upscale, multiplier in hundredths → whole credits
  it.each([
    [1, 'none', 100, 1],
    [2, 'none', 100, 1],
    [3, 'none', 100, 2],
    [10, 'none', 100, 5],
    [1, '2x', 100, 1],
    [1, '4x', 100, 2],
    [1, 'none', 150, 1],
    [2, 'none', 150, 2],
    [3, '2x', 150, 5],
    [3, '4x', 250, 12],
    [7, '4x', 133, 14],
    [10, '4x', 300, 45],
    [2, 'none', 101, 2],
  ])(
    'of %d, upscaled %s, at %d hundredths is rounded up once to %d credits',
    (n, upscale, multiplier, credits) => {
      expect(priceOf({ n, upscale }, modelWith(multiplier))).toEqual({
        image_generations: n * 100,
        credits: credits * 100,
      });
    },
  );

  it('has a base before the multiplier, rounded up, at least 1', () => {
    const base = (body: object) => baseCredits(parseImageInput({ prompt: 'x', ...body }), modelWith(300));
    expect([base({}), base({ n: 3 }), base({ n: 3, upscale: '4x' })]).toEqual([1, 2, 5]);
  });

  it("follows the model's own base price", () => {
    expect(priceOf({ n: 3 }, modelWith(150, { amount: 1.25, credits: 0.07 }))).toEqual({
      image_generations: 375,
      credits: 100,
    });
    expect(priceOf({ n: 3 }, modelWith(150, { credits: 0 }))).toEqual({ image_generations: 300 });
  });
});

describe('an image request', () => {
  it('has its defaults filled in', () => {
    expect(parseImageInput({ prompt: 'a fox', model: 'x/y', negative_prompt: null })).toEqual({
      prompt: 'a fox',
      size: '1024x1024',
      n: 1,
      style: 'vivid',
      upscale: 'none',
      response_format: 'url',
    });
    expect(parseImageInput({ prompt: 'a fox', seed: 0, negative_prompt: 'cats' })).toMatchObject({
      seed: 0,
      negative_prompt: 'cats',
    });
  });

  it('asks for exact pixels', () => {
    expect(dimensionsOf({ size: '1792x1024', upscale: '4x' }).result).toEqual({ width: 7168, height: 4096 });
  });

  it.each([
    [{ prompt: undefined }, 'prompt is required', 'prompt'],
    [{ prompt: '' }, 'prompt is required', 'prompt'],
    [{ prompt: ' \n' }, 'prompt is required', 'prompt'],
    [{ prompt: 7 }, 'prompt must be a string', 'prompt'],
    [{ prompt: 'x'.repeat(32_001) }, 'prompt exceeds maximum length of 32000 characters', 'prompt'],
    [{ n: 0 }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: -1 }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: 1.5 }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: 11 }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: '2' }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: Number.POSITIVE_INFINITY }, 'n must be a whole number from 1 to 10', 'n'],
    [{ n: [2] }, 'n must be a whole number from 1 to 10', 'n'],
    [{ size: '1025x1024' }, /^size must be one of/, 'size'],
    [{ size: 'constructor' }, /^size must be one of/, 'size'],
    [{ style: 'VIVID' }, /^style must be one of vivid, natural$/, 'style'],
    [{ upscale: '3x' }, /^upscale must be one of/, 'upscale'],
    [{ response_format: 'png' }, /^response_format must be one of/, 'response_format'],
    [{ negative_prompt: {} }, 'negative_prompt must be a string', 'negative_prompt'],
    [{ seed: 1.2 }, /^seed must be a whole number/, 'seed'],
    [{ seed: '5' }, /^seed must be a whole number/, 'seed'],
    [{ quality: 'hd' }, 'Unknown parameter: quality', 'quality'],
    [JSON.parse('{"__proto__": {"n": 3}}') as object, 'Unknown parameter: __proto__', '__proto__'],
    [{ orgId: 'x' }, 'Unknown parameter: orgId', 'orgId'],
  ])('with %j is refused', (fields, message, param) => {
    const body = Object.defineProperties(
      { prompt: 'a fox' },
      Object.getOwnPropertyDescriptors(fields),
    ) as Record<string, unknown>;
    expect(() => parseImageInput(body)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
        details: { param },
      }),
    );
  });
});
