import type { BitReader } from './bit-reader.js';

/** What AAC's packets, and Apple Lossless's after them, are made of: each begins with three bits that tell which it is. */
export const ELEMENT = { single: 0, pair: 1, lowFrequency: 3, data: 4, fill: 6, end: 7 } as const;

/** Passes over what stands beside the sound. `tag`: the four bits that follow the element's kind. @throws RangeError beyond the end */
export function skipElement(
  reader: BitReader,
  element: typeof ELEMENT.data | typeof ELEMENT.fill,
  tag: number,
): void {
  if (element === ELEMENT.fill) {
    reader.advance(8 * (tag === 15 ? tag + reader.read(8) - 1 : tag));
    return;
  }
  const aligned = reader.read(1) === 1;
  const count = reader.read(8);
  const length = count === 255 ? count + reader.read(8) : count;
  if (aligned) reader.align();
  reader.advance(8 * length);
}
