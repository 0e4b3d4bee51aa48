/** The range of voices, in Hz. */
const LOWEST = 55;
const HIGHEST = 450;
/** Correlation above which a frame counts as voiced. */
const VOICED = 0.55;

/**
 * The pitch of one frame of mono samples by its autocorrelation; null where it is not voiced. A frame of 40 ms holds two periods of the
 * lowest voice.
 */
export function pitchOf(frame: Float32Array, sampleRate: number): number | null {
  const shortest = Math.floor(sampleRate / HIGHEST);
  const longest = Math.min(Math.ceil(sampleRate / LOWEST), frame.length >> 1);
  const size = frame.length - longest;
  let energy = 0;
  for (let at = 0; at < size; at++) energy += (frame[at] ?? 0) ** 2;
  if (energy / size < 1e-6) return null;
  const scores = new Float32Array(longest + 1);
  let best = 0;
  for (let lag = shortest; lag <= longest; lag++) {
    let sum = 0;
    let shifted = 1e-9;
    for (let at = 0; at < size; at++) {
      const other = frame[at + lag] ?? 0;
      sum += (frame[at] ?? 0) * other;
      shifted += other * other;
    }
    scores[lag] = sum / Math.sqrt(energy * shifted);
    if ((scores[lag] ?? 0) > (scores[best] ?? 0)) best = lag;
  }
  if ((scores[best] ?? 0) < VOICED) return null;
  // The first lag that fits nearly as well is the period; later ones are its multiples.
  for (let lag = shortest; lag < best; lag++) {
    const isPeak =
      (scores[lag] ?? 0) >= (scores[lag - 1] ?? 0) && (scores[lag] ?? 0) >= (scores[lag + 1] ?? 0);
    if (isPeak && (scores[lag] ?? 0) > 0.88 * (scores[best] ?? 0)) return sampleRate / lag;
  }
  return sampleRate / best;
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? null;
}
