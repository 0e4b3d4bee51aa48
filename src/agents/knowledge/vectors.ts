import { nextSlice } from '../../collections/time-slicer.js';
import { featureVector } from '../../text/feature-vector.js';

/** Hashed features of a text; without an embedding model it finds shared words and typos, not meaning. */
export const DIMENSIONS = 512;

/** Rows that are compared in one slice: some two milliseconds. */
const SLICE = 4096;

/** A lower similarity is chance: two texts of one language share some features. */
const LEAST_COSINE = 0.05;

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

/** Many vectors in one buffer, with their lengths. */
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

  /** Rows by cosine similarity, best first; rows without any are left out. Long scans let the event loop run in between. */
  async nearest(query: Buffer, limit: number): Promise<{ row: number; cosine: number }[]> {
    const wanted = featuresOf(new Int8Array(query.buffer, query.byteOffset, query.byteLength));
    let found: { row: number; cosine: number }[] = [];
    for (let from = 0; from < this.lengths.length; from += SLICE) {
      if (from > 0) await nextSlice();
      const worst = found.length < limit ? LEAST_COSINE : (found.at(-1)?.cosine ?? LEAST_COSINE);
      found.push(...this.slice(wanted, from, worst));
      found = found.sort((a, b) => b.cosine - a.cosine || a.row - b.row).slice(0, limit);
    }
    return found;
  }

  private slice(
    { cells: used, values, length }: Features,
    from: number,
    worst: number,
  ): { row: number; cosine: number }[] {
    const to = Math.min(from + SLICE, this.lengths.length);
    const found: { row: number; cosine: number }[] = [];
    for (let row = from; row < to; row++) {
      const start = row * DIMENSIONS;
      let dot = 0;
      for (let at = 0; at < used.length; at++)
        dot = (dot + (values[at] as number) * (this.cells[start + (used[at] as number)] as number)) | 0;
      const cosine = dot / (length * (this.lengths[row] as number) || 1);
      if (cosine > worst) found.push({ row, cosine });
    }
    return found;
  }
}

/** The non-zero features of a vector; a short question has few. */
interface Features {
  cells: Int32Array;
  values: Int32Array;
  length: number;
}

function featuresOf(vector: Int8Array): Features {
  const cells = Int32Array.from(vector.keys()).filter((at) => vector[at] !== 0);
  return { cells, values: cells.map((at) => vector[at] as number), length: lengthOf(vector) };
}

function lengthOf(vector: Int8Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}
