/** Who does long work in slices: `step` works until about `until`, and says whether it is done. */
interface Turns {
  run(step: (until: number) => boolean): Promise<void>;
}

/** What is no longer is copied at once. */
const SHORT_BYTES = 1024 * 1024;
/** Bytes that are copied between two looks at the clock. */
const COPIED_BYTES = 512 * 1024;

/** What came in pieces as one: at once where it is short, else in slices of the main thread's time, for 40 MB take 70 ms to copy into fresh memory. */
export function joinBytes(pieces: readonly Uint8Array[], turns: Turns): Buffer | Promise<Buffer> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return size <= SHORT_BYTES ? Buffer.concat(pieces) : joinLong(pieces, { size, turns });
}

async function joinLong(
  pieces: readonly Uint8Array[],
  { size, turns }: { size: number; turns: Turns },
): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(size);
  let end = 0;
  let at = 0;
  /** Of the piece at `at`, which may be long itself. */
  let from = 0;
  await turns.run((until) => {
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
