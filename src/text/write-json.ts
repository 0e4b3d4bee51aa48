import { joinBytes } from './join-bytes.js';
import { isLongJson, jsonPieces, textPieces } from './json-pieces.js';

/** Who does long work in slices: `step` works until about `until`, and says whether it is done. */
interface Turns {
  run(step: (until: number) => boolean): Promise<void>;
}

interface Limits {
  turns: Turns;
  maxBytes: number;
}

/** Characters from which on a text is written in slices. */
const LONG_TEXT = 512 * 1024;

/** A value's JSON: at once where it is short, else in slices of the main thread's time. What is read of it is the same. */
export function writeJson(value: unknown, turns: Turns): string | Promise<Buffer> {
  return isLongJson(value) ? writeLongJson(value, turns) : JSON.stringify(value);
}

/** A text's bytes where it is long, made in slices of the main thread's time: a socket would write 40 MB of it in 100 ms, in one go. */
export function writeText(text: string, turns: Turns): string | Promise<Buffer> {
  return text.length < LONG_TEXT
    ? text
    : (bytesOf(textPieces(text), { turns, maxBytes: Infinity }) as Promise<Buffer>);
}

/** Never in one go: 2,048 vectors of 4,096 numbers are 170 MB: JSON.stringify would hold everybody else up for a second and more. */
export async function writeLongJson(value: unknown, turns: Turns): Promise<Buffer> {
  return (await writeJsonUpTo(value, { turns, maxBytes: Infinity })) as Buffer;
}

/** A value's JSON, or null where it takes more bytes than that: what nobody could keep is not written to its end. */
export function writeJsonUpTo(value: unknown, limits: Limits): Promise<Buffer | null> {
  return bytesOf(jsonPieces(value), limits);
}

async function bytesOf(
  writing: Generator<string, void>,
  { turns, maxBytes }: Limits,
): Promise<Buffer | null> {
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
  return await joinBytes(pieces, turns);
}
