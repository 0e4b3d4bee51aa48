import { fillMasked } from './fill.js';
import { fillFromPatches } from './patch-match.js';
import type { Canvas, Field } from './patch-match.js';
import type { Raster } from './raster.js';

/** What is looked at around the hole, in sizes of the hole. */
const MARGIN = 1;
const LEAST_MARGIN = 48;
/** A larger surrounding is searched at half its size, and so on; its pieces are taken at full size. */
const MAX_SIDE = 384;
/** Coarsest level: the hole is a few patches then. */
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

function canvasOf(filled: Raster, mask: Buffer, { left, top, width, height }: Box): Canvas {
  const colours = new Float32Array(width * height * 3);
  const hole = new Uint8Array(width * height);
  for (let y = 0, pixel = 0; y < height; y++)
    for (let x = 0; x < width; x++, pixel++) {
      const at = (top + y) * filled.width + left + x;
      for (let channel = 0; channel < 3; channel++)
        colours[pixel * 3 + channel] = filled.data[at * 4 + channel] as number;
      hole[pixel] = (mask[at] as number) >= 128 ? 1 : 0;
    }
  return { width, height, colours, hole };
}

/** Half as large; unknown where anything in it is. */
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

function levelsOf(full: Canvas): Canvas[] {
  const levels = [full];
  for (let last = full; Math.min(last.width, last.height) >= 2 * LEAST_SIDE;) {
    last = halved(last);
    levels.push(last);
  }
  return levels;
}

/** Colours of a level's field at full size: each pixel from where its place in the level came from. */
function copyPieces(full: Canvas, level: Canvas, field: Field): void {
  const scale = full.width / level.width;
  for (let y = 0, pixel = 0; y < full.height; y++)
    for (let x = 0; x < full.width; x++, pixel++) {
      if (full.hole[pixel] !== 1) continue;
      const [lx, ly] = [
        Math.min(level.width - 1, Math.floor(x / scale)),
        Math.min(level.height - 1, Math.floor(y / scale)),
      ];
      const source = field[ly * level.width + lx] ?? -1;
      const sx = Math.round(x + ((source % level.width) - lx) * scale);
      const sy = Math.round(y + (Math.floor(source / level.width) - ly) * scale);
      const from = sy * full.width + sx;
      if (source < 0 || sx < 0 || sy < 0 || sx >= full.width || sy >= full.height || full.hole[from] === 1)
        continue;
      for (let channel = 0; channel < 3; channel++)
        full.colours[pixel * 3 + channel] = full.colours[from * 3 + channel] as number;
    }
}

function dice(seed: number): () => number {
  let state = (seed ^ 0x51ed270b) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * The masked area made of pieces of its surroundings, textures and edges continued. Where everything around is masked too, it is filled
 * smoothly. The same seed gives the same picture.
 */
export function fillByExample(image: Raster, mask: Buffer, seed: number): Raster {
  const filled = fillMasked(image, mask);
  const box = surroundings(image, mask);
  if (box === null) return filled;
  const full = canvasOf(filled, mask, box);
  const levels = levelsOf(full);
  const random = dice(seed);
  let found: { field: Field; width: number; height: number; canvas: Canvas } | null = null;
  for (const canvas of levels.toReversed()) {
    if (canvas !== levels.at(-1) && Math.max(canvas.width, canvas.height) > MAX_SIDE) break;
    const field = fillFromPatches(canvas, found, random);
    if (field !== null) found = { field, width: canvas.width, height: canvas.height, canvas };
  }
  if (found === null) return filled;
  if (found.canvas !== full) copyPieces(full, found.canvas, found.field);
  return pasted(filled, full, box);
}

function pasted(filled: Raster, { colours, hole, width, height }: Canvas, { left, top }: Box): Raster {
  const data = Buffer.from(filled.data);
  for (let y = 0, pixel = 0; y < height; y++)
    for (let x = 0; x < width; x++, pixel++) {
      if (hole[pixel] !== 1) continue;
      const at = ((top + y) * filled.width + left + x) * 4;
      for (let channel = 0; channel < 3; channel++)
        data[at + channel] = Math.round(colours[pixel * 3 + channel] as number);
    }
  return { ...filled, data };
}
