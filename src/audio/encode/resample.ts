/** Linear interpolation to another number of samples: pitch and pace change together. */
export function resampleTo(pcm: Float32Array, length: number): Float32Array {
  const out = new Float32Array(length);
  const step = length > 1 ? (pcm.length - 1) / (length - 1) : 0;
  for (let at = 0; at < length; at++) {
    const position = at * step;
    const left = Math.floor(position);
    const a = pcm[left] ?? 0;
    const b = pcm[left + 1] ?? a;
    out[at] = a + (b - a) * (position - left);
  }
  return out;
}
