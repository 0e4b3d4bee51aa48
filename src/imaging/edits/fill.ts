import type { Raster } from './raster.js';

/** A level of the pyramid: colour sums weighted by how much of them is known. */
interface Level {
  width: number;
  height: number;
  /** Red, green, blue, weight. */
  cells: Float32Array;
}

function base(image: Raster, mask: Buffer): Level {
  const cells = new Float32Array(image.width * image.height * 4);
  for (let pixel = 0, at = 0; at < cells.length; pixel++, at += 4) {
    const known = (mask[pixel] as number) < 128 ? 1 : 0;
    for (let channel = 0; channel < 3; channel++)
      cells[at + channel] = (image.data[at + channel] as number) * known;
    cells[at + 3] = known;
  }
  return { width: image.width, height: image.height, cells };
}

function halve(level: Level): Level {
  const width = Math.ceil(level.width / 2);
  const height = Math.ceil(level.height / 2);
  const cells = new Float32Array(width * height * 4);
  for (let y = 0; y < level.height; y++) {
    for (let x = 0; x < level.width; x++) {
      const from = (y * level.width + x) * 4;
      const to = ((y >> 1) * width + (x >> 1)) * 4;
      for (let part = 0; part < 4; part++)
        cells[to + part] = (cells[to + part] as number) + (level.cells[from + part] as number);
    }
  }
  // Weights stay at most one, so that a few known pixels do not shout down the many.
  for (let at = 0; at < cells.length; at += 4) {
    const weight = cells[at + 3] as number;
    if (weight <= 1) continue;
    for (let part = 0; part < 4; part++) cells[at + part] = (cells[at + part] as number) / weight;
  }
  return { width, height, cells };
}

/** Fills what a level does not know from the coarser one, interpolated. */
function pull(fine: Level, coarse: Level): void {
  for (let y = 0; y < fine.height; y++) {
    const cy = Math.min(coarse.height - 1, Math.max(0, (y - 0.5) / 2));
    const top = Math.floor(cy);
    const bottom = Math.min(coarse.height - 1, top + 1);
    for (let x = 0; x < fine.width; x++) {
      const at = (y * fine.width + x) * 4;
      const known = fine.cells[at + 3] as number;
      if (known >= 1) continue;
      const cx = Math.min(coarse.width - 1, Math.max(0, (x - 0.5) / 2));
      const left = Math.floor(cx);
      const right = Math.min(coarse.width - 1, left + 1);
      for (let channel = 0; channel < 3; channel++) {
        const cell = (row: number, column: number): number =>
          coarse.cells[(row * coarse.width + column) * 4 + channel] as number;
        const upper = cell(top, left) + (cell(top, right) - cell(top, left)) * (cx - left);
        const lower = cell(bottom, left) + (cell(bottom, right) - cell(bottom, left)) * (cx - left);
        const value = upper + (lower - upper) * (cy - top);
        fine.cells[at + channel] = (fine.cells[at + channel] as number) + value * (1 - known);
      }
      fine.cells[at + 3] = 1;
    }
  }
}

/** The masked area filled from its surroundings (pull and push over a pyramid): smooth, without a seam, in the colours around it. */
export function fillMasked(image: Raster, mask: Buffer): Raster {
  const levels = [base(image, mask)];
  for (let last = levels[0] as Level; last.width > 1 || last.height > 1;) {
    last = halve(last);
    levels.push(last);
  }
  for (let at = levels.length - 2; at >= 0; at--) pull(levels[at] as Level, levels[at + 1] as Level);
  const { cells } = levels[0] as Level;
  const data = Buffer.from(image.data);
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    if ((mask[pixel] as number) < 128) continue;
    for (let channel = 0; channel < 3; channel++)
      data[at + channel] = Math.round(cells[at + channel] as number);
    data[at + 3] = 255;
  }
  return { ...image, data };
}

/** The grain around a filled area put over it, so that it does not look polished. */
export function addGrain(filled: Raster, mask: Buffer, seed: number): Raster {
  const data = Buffer.from(filled.data);
  let state = (seed ^ 0x9e3779b9) >>> 0;
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    if ((mask[pixel] as number) < 128) continue;
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const grain = ((state >>> 24) - 128) / 32;
    for (let channel = 0; channel < 3; channel++)
      data[at + channel] = Math.min(255, Math.max(0, Math.round((data[at + channel] as number) + grain)));
  }
  return { ...filled, data };
}
