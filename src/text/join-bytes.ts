import type { TimeSlicer } from '../collections/time-slicer.js';

/** Up to this size, bytes are copied at once. */
const SHORT_BYTES = 1024 * 1024;
/** Bytes that are copied between two looks at the clock. */
const COPIED_BYTES = 512 * 1024;

/** Joins pieces into one buffer: short ones at once, long ones in time slices, because copying 40 MB into fresh memory takes 70 ms. */
export function joinBytes(pieces: readonly Uint8Array[], timeSlicer: TimeSlicer): Buffer | Promise<Buffer> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return size <= SHORT_BYTES ? Buffer.concat(pieces) : joinLong(pieces, { size, timeSlicer });
}

async function joinLong(
  pieces: readonly Uint8Array[],
  { size, timeSlicer }: { size: number; timeSlicer: TimeSlicer },
): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(size);
  let end = 0;
  let at = 0;
  /** Bytes already copied from the piece at `at`, which may be long itself. */
  let from = 0;
  await timeSlicer.run((until) => {
    for (let copied = 0; at < pieces.length;) {
      if (copied >= COPIED_BYTES && performance.now() >= until) return false;
      if (copied >= COPIED_BYTES) copied = 0;
      const part = (pieces[at] as Uint8Array).subarray(from, from + COPIED_BYTES);
      whole.set(part, end);
      end += part.length;
      copied += part.length;
      from += part.length;
      if (from >= (pieces[at] as Uint8Array).length) {
        at++;
        from = 0;
      }
    }
    return true;
  });
  return whole;
}
