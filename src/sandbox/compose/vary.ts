import { resampleTo } from '../../audio/child-index.js';
import { stretchTo } from '../sound/stretch.js';
import { finish } from './compose.js';
import type { Stereo } from './instruments.js';
import type { MusicPlan } from './plan.js';

/** The level of the source beside the music that is added. */
const SOURCE_LEVEL = 0.7;
const PLAYED_LEVEL = 0.45;

/**
 * A variation of a recording: the source, moved to another pitch and pace by the plan and repeated where it is too short, with the plan's
 * piece added at the source's loudness.
 */
export function varySource(
  source: { pcm: Float32Array; sampleRate: number },
  { plan, played, seconds }: { plan: MusicPlan; played: Stereo; seconds: number },
): Stereo {
  const { sampleRate } = played;
  const shift = 2 ** ((plan.dice.int(5) - 2) / 12);
  const base = resampleTo(
    source.pcm,
    Math.round((source.pcm.length * sampleRate) / source.sampleRate / shift),
  );
  const pace = Math.min(1.25, Math.max(0.8, (plan.tempo / 105) ** 0.5));
  const moved = stretchTo(base, Math.max(1, Math.round((base.length * shift) / pace)), sampleRate);
  const level = loudness(moved);
  const follow = level / Math.max(1e-6, loudness(played.left));
  for (let at = 0; at < played.left.length; at++) {
    const original = (moved[at % moved.length] ?? 0) * SOURCE_LEVEL;
    played.left[at] = original + (played.left[at] ?? 0) * follow * PLAYED_LEVEL;
    played.right[at] = original + (played.right[at] ?? 0) * follow * PLAYED_LEVEL;
  }
  finish(played, seconds);
  return played;
}

function loudness(pcm: Float32Array): number {
  let sum = 0;
  for (const sample of pcm) sum += sample * sample;
  return Math.sqrt(sum / Math.max(1, pcm.length));
}
