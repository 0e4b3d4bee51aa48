import { resampleTo } from '../../audio/child-index.js';

/**
 * Makes mono samples exactly `length` long without changing their pitch: overlapping windows are laid down at even distances, each taken
 * from where the waveform fits what stands already (WSOLA).
 */
export function stretchTo(pcm: Float32Array, length: number, sampleRate: number): Float32Array {
  if (length === pcm.length || pcm.length === 0) return pcm.slice(0, length);
  const window = 2 * Math.round(sampleRate * 0.016);
  const hop = window / 2;
  const reach = Math.round(sampleRate * 0.008);
  if (pcm.length < 2 * window || length < window) return resampleTo(pcm, length);
  const out = new Float32Array(length + window);
  const ratio = (pcm.length - window) / Math.max(1, length - hop);
  let natural = 0;
  for (let at = 0; at < length; at += hop) {
    const wanted = Math.round(at * ratio);
    const from = at === 0 ? 0 : bestMatch({ pcm, wanted, natural, window: hop, reach });
    for (let index = 0; index < window; index++) {
      const weight = 0.5 - 0.5 * Math.cos((2 * Math.PI * (index + 0.5)) / window);
      const value = (pcm[from + index] ?? 0) * (at === 0 && index < hop ? 1 : weight);
      out[at + index] = (out[at + index] ?? 0) + value;
    }
    natural = from + hop;
  }
  return out.slice(0, length);
}

interface Search {
  pcm: Float32Array;
  /** Where the time line points. */
  wanted: number;
  /** Where the previous window would continue. */
  natural: number;
  window: number;
  reach: number;
}

/** The start near `wanted` whose samples are most like those at `natural`. */
function bestMatch({ pcm, wanted, natural, window, reach }: Search): number {
  const last = pcm.length - 2 * window;
  const low = Math.max(0, Math.min(wanted - reach, last));
  const high = Math.max(0, Math.min(wanted + reach, last));
  let best = Math.max(0, Math.min(wanted, last));
  let bestScore = Number.NEGATIVE_INFINITY;
  for (let start = low; start <= high; start += 2) {
    let score = 0;
    let energy = 1e-6;
    for (let index = 0; index < window; index += 4) {
      const sample = pcm[start + index] ?? 0;
      score += sample * (pcm[natural + index] ?? 0);
      energy += sample * sample;
    }
    score /= Math.sqrt(energy);
    if (score > bestScore) {
      bestScore = score;
      best = start;
    }
  }
  return best;
}
