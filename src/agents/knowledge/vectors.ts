import { setImmediate as turn } from 'node:timers/promises';
import { featureVector } from '../../providers/index.js';

/** Hashed features of a text; without an embedding model it finds shared words and typos, not meaning. */
export const DIMENSIONS = 512;

/** Rows that are compared in one go: some two milliseconds. */
const SLICE = 4096;

/** A text's vector, one signed byte for each feature. */
export function vectorOf(text: string): Buffer {
  const vector = featureVector(text, DIMENSIONS);
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const bytes = Buffer.alloc(DIMENSIONS);
  for (let at = 0; at < DIMENSIONS; at++)
    bytes.writeInt8(Math.round(((vector[at] ?? 0) / largest) * 127), at);
  return bytes;
}

/** Many vectors behind each other, with their lengths: what a scan needs. */
export class VectorTable {
  private readonly cells: Int8Array;
  private readonly lengths: Float32Array;

  constructor(readonly vectors: readonly Buffer[]) {
    this.cells = new Int8Array(vectors.length * DIMENSIONS);
    this.lengths = new Float32Array(vectors.length);
    for (const [row, vector] of vectors.entries()) {
      const view = new Int8Array(vector.buffer, vector.byteOffset, vector.byteLength);
      this.cells.set(view.subarray(0, DIMENSIONS), row * DIMENSIONS);
      this.lengths[row] = lengthOf(view);
    }
  }

  get bytes(): number {
    return this.cells.byteLength + this.lengths.byteLength;
  }

  /** Rows by cosine, best first; those that share nothing are left out. Long tables leave the event loop to others in between. */
  async nearest(query: Buffer, limit: number): Promise<{ row: number; cosine: number }[]> {
    const wanted = new Int8Array(query.buffer, query.byteOffset, query.byteLength);
    let found: { row: number; cosine: number }[] = [];
    for (let from = 0; from < this.lengths.length; from += SLICE) {
      if (from > 0) await turn();
      found.push(...this.slice(wanted, from));
      found = found.sort((a, b) => b.cosine - a.cosine).slice(0, limit);
    }
    return found;
  }

  private slice(wanted: Int8Array, from: number): { row: number; cosine: number }[] {
    const length = lengthOf(wanted);
    const to = Math.min(from + SLICE, this.lengths.length);
    const found: { row: number; cosine: number }[] = [];
    for (let row = from; row < to; row++) {
      let dot = 0;
      for (let at = 0, cell = row * DIMENSIONS; at < DIMENSIONS; at++, cell++)
        dot += (wanted[at] as number) * (this.cells[cell] as number);
      const cosine = dot / (length * (this.lengths[row] as number) || 1);
      if (cosine > 0.05) found.push({ row, cosine });
    }
    return found;
  }
}

function lengthOf(vector: Int8Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}
