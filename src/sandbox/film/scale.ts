import type { Planes, Size } from '../../video/child-index.js';

const FRACTION_BITS = 8;

interface Axis {
  /** For each target index: the source index below it, and how far it is to the next one (of 256). */
  index: Int32Array;
  weight: Int32Array;
}

/** The middle part of `from` that has the other's shape, stretched over `to`. */
function axis(from: number, used: number, to: number): Axis {
  const index = new Int32Array(to);
  const weight = new Int32Array(to);
  const start = (from - used) / 2;
  for (let at = 0; at < to; at++) {
    const place = Math.min(Math.max(start + ((at + 0.5) * used) / to - 0.5, 0), from - 1);
    const whole = Math.min(Math.floor(place), from - 2);
    index[at] = Math.max(0, whole);
    weight[at] = Math.round((place - Math.max(0, whole)) * 256);
  }
  return { index, weight };
}

interface Scaling {
  /** Bytes of a row of the source. */
  stride: number;
  columns: Axis;
  rows: Axis;
}

function scalePlane(source: Buffer, target: Buffer, { stride, columns, rows }: Scaling): void {
  const width = columns.index.length;
  for (let row = 0, to = 0; row < rows.index.length; row++) {
    const upper = (rows.index[row] ?? 0) * stride;
    const down = rows.weight[row] ?? 0;
    const lower = down === 0 ? upper : upper + stride;
    for (let column = 0; column < width; column++, to++) {
      const left = columns.index[column] ?? 0;
      const right = columns.weight[column] ?? 0;
      const a = source[upper + left] ?? 0;
      const b = source[lower + left] ?? 0;
      const first = (a << FRACTION_BITS) + (b - a) * down;
      if (right === 0) {
        target[to] = first >> FRACTION_BITS;
        continue;
      }
      const c = source[upper + left + 1] ?? 0;
      const d = source[lower + left + 1] ?? 0;
      const second = (c << FRACTION_BITS) + (d - c) * down;
      target[to] = ((first << FRACTION_BITS) + (second - first) * right) >> (2 * FRACTION_BITS);
    }
  }
}

/** Brings frames of one size to another one, covering it, cut around the middle. Made once, used for every frame. */
export function createScaler(from: Size, to: Size): (source: Planes, target: Planes) => void {
  const ratio = Math.min(from.width / to.width, from.height / to.height);
  const used = { width: to.width * ratio, height: to.height * ratio };
  const full = {
    stride: from.width,
    columns: axis(from.width, used.width, to.width),
    rows: axis(from.height, used.height, to.height),
  };
  const half = {
    stride: from.width >> 1,
    columns: axis(from.width >> 1, used.width / 2, to.width >> 1),
    rows: axis(from.height >> 1, used.height / 2, to.height >> 1),
  };
  return (source, target) => {
    scalePlane(source.y, target.y, full);
    scalePlane(source.u, target.u, half);
    scalePlane(source.v, target.v, half);
  };
}
