import type { Planes } from '../../video/child-index.js';

export interface Yuv {
  y: number;
  u: number;
  v: number;
}

/** One colour, components 0 to 255. */
export function toYuv(red: number, green: number, blue: number): Yuv {
  return {
    y: 16 + 0.1826 * red + 0.6142 * green + 0.062 * blue,
    u: 128 - 0.1006 * red - 0.3386 * green + 0.4392 * blue,
    v: 128 + 0.4392 * red - 0.3989 * green - 0.0403 * blue,
  };
}

/** A window of a larger picture, row by row; `left` and `top` are even. */
export function copyWindow(from: Planes, to: Planes, { left, top }: { left: number; top: number }): void {
  const copy = (source: Buffer, target: Buffer, shift: 0 | 1) => {
    const width = to.width >> shift;
    const stride = from.width >> shift;
    for (let row = 0; row < to.height >> shift; row++) {
      const start = ((top >> shift) + row) * stride + (left >> shift);
      source.copy(target, row * width, start, start + width);
    }
  };
  copy(from.y, to.y, 0);
  copy(from.u, to.u, 1);
  copy(from.v, to.v, 1);
}

/** Lays a picture of the same width over the bottom. */
export function coverBottom(over: Planes, to: Planes): void {
  const rows = Math.min(over.height, to.height);
  over.y.copy(to.y, (to.height - rows) * to.width, 0, rows * to.width);
  for (const [source, target] of [
    [over.u, to.u],
    [over.v, to.v],
  ] as const)
    source.copy(target, ((to.height - rows) * to.width) / 4, 0, (rows * to.width) / 4);
}
