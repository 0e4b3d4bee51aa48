import { fillMasked } from './fill.js';
import { fillFromPatches } from './patch-match.js';
import type { Canvas, Field } from './patch-match.js';
import type { Raster } from './raster.js';

/** Width of the searched margin around the hole, as a multiple of the hole's size. */
const MARGIN = 1;
const LEAST_MARGIN = 48;
/** A larger surrounding is searched at half its size, and so on; its pieces are taken at full size. */
const MAX_SIDE = 384;
/** Size of the coarsest level, in which the hole is a few patches wide. */
const LEAST_SIDE = 24;

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

function surroundings({ width, height }: Raster, mask: Buffer): Box | null {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if ((mask[y * width + x] as number) >= 128) {
        [left, right] = [Math.min(left, x), Math.max(right, x)];
        [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
      }
  if (right < 0) return null;
  const margin = Math.max(LEAST_MARGIN, Math.round(Math.max(right - left, bottom - top) * MARGIN));
  const [x, y] = [Math.max(0, left - margin), Math.max(0, top - margin)];
  return {
    left: x,
    top: y,
    width: Math.min(width, right + margin + 1) - x,
    height: Math.min(height, bottom + margin + 1) - y,
  };
}

/** A box at one of its levels: so many pixels of the picture, on each side, are one. Unknown where any of them is. */
function canvasOf(filled: Raster, mask: Buffer, { left, top, step, ...box }: Box & { step: number }): Canvas {
  const [width, height] = [Math.floor(box.width / step), Math.floor(box.height / step)];
  const colours = new Float32Array(width * height * 3);
  const hole = new Uint8Array(width * height);
  const part = 1 / (step * step);
  for (let y = 0; y < height * step; y++)
    for (let x = 0; x < width * step; x++) {
      const at = (top + y) * filled.width + left + x;
      const to = Math.floor(y / step) * width + Math.floor(x / step);
      for (let channel = 0; channel < 3; channel++)
        colours[to * 3 + channel] =
          (colours[to * 3 + channel] as number) + (filled.data[at * 4 + channel] as number) * part;
      if ((mask[at] as number) >= 128) hole[to] = 1;
    }
  return { width, height, colours, hole };
}

/** Half as large; a pixel is unknown if any of its four pixels is. */
function halved({ width, height, colours, hole }: Canvas): Canvas {
  const [w, h] = [width >> 1, height >> 1];
  const half: Canvas = {
    width: w,
    height: h,
    colours: new Float32Array(w * h * 3),
    hole: new Uint8Array(w * h),
  };
  for (let y = 0; y < h; y++)
    for (let x = 0; x < w; x++)
      for (const from of [0, 1, width, width + 1].map((step) => y * 2 * width + x * 2 + step)) {
        const to = y * w + x;
        half.hole[to] = Math.max(half.hole[to] as number, hole[from] as number);
        for (let channel = 0; channel < 3; channel++)
          half.colours[to * 3 + channel] =
            (half.colours[to * 3 + channel] as number) + (colours[from * 3 + channel] as number) / 4;
      }
  return half;
}

/** The levels that are searched, the finest first. A large box is never held at full size. */
function levelsOf(filled: Raster, mask: Buffer, box: Box): { levels: Canvas[]; step: number } {
  let step = 1;
  const sideAt = (by: number): number => Math.floor(Math.max(box.width, box.height) / by);
  const shortAt = (by: number): number => Math.floor(Math.min(box.width, box.height) / by);
  while (sideAt(step) > MAX_SIDE && shortAt(step) >= 2 * LEAST_SIDE) step *= 2;
  const finest = canvasOf(filled, mask, { ...box, step });
  const levels = [finest];
  for (let last = finest; Math.min(last.width, last.height) >= 2 * LEAST_SIDE;) {
    last = halved(last);
    levels.push(last);
  }
  return { levels, step };
}

/** A level's field at full size, in place: each pixel of the hole from where its place in the level came from. */
function copyPieces(filled: Raster, mask: Buffer, { box, level, field }: Found & { box: Box }): void {
  const scale = box.width / level.width;
  const { data } = filled;
  const pixelAt = (x: number, y: number): number => (box.top + y) * filled.width + box.left + x;
  for (let y = 0; y < box.height; y++)
    for (let x = 0; x < box.width; x++) {
      const to = pixelAt(x, y);
      if ((mask[to] as number) < 128) continue;
      const lx = Math.min(level.width - 1, Math.floor(x / scale));
      const ly = Math.min(level.height - 1, Math.floor(y / scale));
      const source = field[ly * level.width + lx] ?? -1;
      const sx = Math.round(x + ((source % level.width) - lx) * scale);
      const sy = Math.round(y + (Math.floor(source / level.width) - ly) * scale);
      if (source < 0 || sx < 0 || sy < 0 || sx >= box.width || sy >= box.height) continue;
      const from = pixelAt(sx, sy);
      if ((mask[from] as number) >= 128) continue;
      for (let channel = 0; channel < 3; channel++)
        data[to * 4 + channel] = data[from * 4 + channel] as number;
    }
}

function dice(seed: number): () => number {
  let state = (seed ^ 0x51ed270b) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Found {
  level: Canvas;
  field: Field;
}

/**
 * The masked area made of pieces of its surroundings, textures and edges continued. Where everything around is masked too, it is filled
 * smoothly. The same seed gives the same picture.
 */
export function fillByExample(image: Raster, mask: Buffer, seed: number): Raster {
  const filled = fillMasked(image, mask);
  const box = surroundings(image, mask);
  if (box === null) return filled;
  const { levels, step } = levelsOf(filled, mask, box);
  const random = dice(seed);
  let found: Found | null = null;
  for (const level of levels.toReversed()) {
    const coarse = found && { field: found.field, width: found.level.width, height: found.level.height };
    const field = fillFromPatches(level, coarse, random);
    if (field !== null) found = { level, field };
  }
  if (found === null) return filled;
  if (step === 1 && found.level === levels[0]) pasted(filled, found.level, box);
  else copyPieces(filled, mask, { box, ...found });
  return filled;
}

/** The picture with the hole of a box filled at full size. */
function pasted({ data, width: across }: Raster, { colours, hole, width, height }: Canvas, box: Box): void {
  for (let y = 0, pixel = 0; y < height; y++)
    for (let x = 0; x < width; x++, pixel++) {
      if (hole[pixel] !== 1) continue;
      const at = ((box.top + y) * across + box.left + x) * 4;
      for (let channel = 0; channel < 3; channel++)
        data[at + channel] = Math.round(colours[pixel * 3 + channel] as number);
    }
}
