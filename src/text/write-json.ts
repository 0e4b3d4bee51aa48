import { isLongJson, jsonPieces } from './json-pieces.js';

/** Who does long work in slices: `step` works until about `until`, and says whether it is done. */
interface Turns {
  run(step: (until: number) => boolean): Promise<void>;
}

/** Bytes that are copied between two looks at the clock. */
const COPIED_BYTES = 512 * 1024;

/** A value's JSON: at once where it is short, else in slices of the main thread's time. What is read of it is the same. */
export function writeJson(value: unknown, turns: Turns): string | Promise<Buffer> {
  return isLongJson(value) ? writeLongJson(value, turns) : JSON.stringify(value);
}

/** Never in one go: 2,048 vectors of 4,096 numbers are 170 MB: JSON.stringify would hold everybody else up for a second and more. */
export async function writeLongJson(value: unknown, turns: Turns): Promise<Buffer> {
  return (await writeJsonUpTo(value, { turns, maxBytes: Infinity })) as Buffer;
}

/** A value's JSON, or null where it takes more bytes than that: what nobody could keep is not written to its end. */
export async function writeJsonUpTo(
  value: unknown,
  { turns, maxBytes }: { turns: Turns; maxBytes: number },
): Promise<Buffer | null> {
  const writing = jsonPieces(value);
  const pieces: Buffer[] = [];
  let size = 0;
  await turns.run((until) => {
    do {
      const { done, value: text } = writing.next();
      if (done === true) return true;
      const piece = Buffer.from(text);
      size += piece.length;
      if (size > maxBytes) return true;
      pieces.push(piece);
    } while (performance.now() < until);
    return false;
  });
  if (size > maxBytes) return null;
  return await joined(pieces, { size, turns });
}

async function joined(pieces: Buffer[], { size, turns }: { size: number; turns: Turns }): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(size);
  let end = 0;
  let at = 0;
  await turns.run((until) => {
    for (let copied = 0; at < pieces.length; at++) {
      if (copied >= COPIED_BYTES && performance.now() >= until) return false;
      if (copied >= COPIED_BYTES) copied = 0;
      copied += (pieces[at] as Buffer).copy(whole, end);
      end += (pieces[at] as Buffer).length;
    }
    return true;
  });
  return whole;
}
