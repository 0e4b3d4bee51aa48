import { describe, expect, it } from 'vitest';
import { priceOfUnits } from '../../src/generation/pipeline/unit-price.js';
import type { Model } from '../../src/models/models.types.js';

function model(
  bucket: Model['pricing']['bucket'],
  multiplier: number,
  more: Partial<Model['pricing']> = {},
): Model {
  return { multiplier, pricing: { unit: 'character', bucket, amount: 1, credits: 0, ...more } } as Model;
}

describe('the price of edits, tracks, characters and seconds', () => {
  it.each<[string, number, Model, object]>([
    ['1 character, fast', 1, model('tts_chars', 100), { tts_chars: 100 }],
    ['3 characters, standard', 3, model('tts_chars', 125), { tts_chars: 375 }],
    ['10,000 characters, premium', 10_000, model('tts_chars', 150), { tts_chars: 1_500_000 }],
    ['7 seconds, standard', 7, model('stt_seconds', 125), { stt_seconds: 875 }],
    ['1 track, 1.33', 1, model('music_tracks', 133), { music_tracks: 133 }],
    [
      '3 units of 0.33, 1.25, up to the hundredth',
      3,
      model('image_edits', 125, { amount: 0.33 }),
      { image_edits: 124 },
    ],
    [
      'credits of an entry, rounded up once',
      3,
      model('tts_chars', 150, { credits: 0.5 }),
      { tts_chars: 450, credits: 300 },
    ],
  ])('%s', (_, units, of, amounts) => {
    expect(priceOfUnits(units, of)).toEqual(amounts);
  });
});
