import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { UnreadableAudioError } from '../../src/audio/audio.types.js';
import { decodeAlacPackets } from '../../src/audio/decode/alac-packets.js';

/** Waves with a little noise, silence, noise as loud as can be: 7,000 samples of two channels, 16 bits, encoded by ffmpeg. */
const file = readFileSync(new URL('../support/fixtures/lossless.m4a', import.meta.url));
const SAMPLES = 7_000;

function sampleAt(at: number, channel: number): number {
  const noise = (Math.imul(at * 2 + channel + 1, 2_654_435_761) >>> 16) & 0xffff;
  if (at < 4_000) return Math.round(9_000 * Math.sin((at * (channel + 1)) / 7)) + (noise & 63);
  return at < 6_000 ? 0 : noise - 32_768;
}

async function decode(bytes: Uint8Array): Promise<number[][]> {
  const channels: number[][] = [[], []];
  for await (const piece of decodeAlacPackets(bytes))
    for (const [at, samples] of piece.channels.entries())
      for (const sample of samples) channels[at]?.push(sample * 32_768);
  return channels;
}

test('Apple Lossless gives every sample back', async () => {
  const expected = [0, 1].map((channel) => Array.from({ length: SAMPLES }, (_, at) => sampleAt(at, channel)));
  expect(await decode(file)).toEqual(expected);
});

test('a broken file of it is decoded as far as it goes or refused, and never more than it says', async () => {
  for (let seed = 1; seed <= 150; seed++) {
    const broken = Uint8Array.from(file);
    for (let n = 0; n < 8; n++) {
      const place = Math.imul(seed * 8 + n, 2_654_435_761) >>> 0;
      broken[place % broken.length] = place >>> 24;
    }
    const length = await decode(broken).then(
      ([left = []]) => left.length,
      (error: unknown) => {
        expect(error).toBeInstanceOf(UnreadableAudioError);
        return 0;
      },
    );
    expect(length).toBeLessThanOrEqual(20 * 16_384);
  }
});
