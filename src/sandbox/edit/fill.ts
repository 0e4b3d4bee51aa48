import type { Raster } from './raster.js';

/** A level of the pyramid: colour sums weighted by how much of them is known. */
interface Level {
  width: number;
  height: number;
  /** Red, green, blue, weight. */
  cells: Float32Array;
}

/** The picture at half its size. It is read as it is: as a level of its own it would take four times the memory. */
function halfOf({ data, width: across, height: down }: Raster, mask: Buffer): Level {
  const half = empty(across, down);
  const { width, cells } = half;
  for (let y = 0, pixel = 0; y < down; y++) {
    for (let x = 0; x < across; x++, pixel++) {
      if ((mask[pixel] as number) >= 128) continue;
      const to = ((y >> 1) * width + (x >> 1)) * 4;
      for (let channel = 0; channel < 3; channel++)
        cells[to + channel] = (cells[to + channel] as number) + (data[pixel * 4 + channel] as number);
      cells[to + 3] = (cells[to + 3] as number) + 1;
    }
  }
  return evened(half);
}

function empty(across: number, down: number): Level {
  const [width, height] = [Math.ceil(across / 2), Math.ceil(down / 2)];
  return { width, height, cells: new Float32Array(width * height * 4) };
}

function halve(level: Level): Level {
  const half = empty(level.width, level.height);
  const { width, cells } = half;
  for (let y = 0; y < level.height; y++) {
    for (let x = 0; x < level.width; x++) {
      const from = (y * level.width + x) * 4;
      const to = ((y >> 1) * width + (x >> 1)) * 4;
      for (let part = 0; part < 4; part++)
        cells[to + part] = (cells[to + part] as number) + (level.cells[from + part] as number);
    }
  }
  return evened(half);
}

/** Limits weights to one, so that a few known pixels do not outweigh many. */
function evened(level: Level): Level {
  const { cells } = level;
  for (let at = 0; at < cells.length; at += 4) {
    const weight = cells[at + 3] as number;
    if (weight <= 1) continue;
    for (let part = 0; part < 4; part++) cells[at + part] = (cells[at + part] as number) / weight;
  }
  return level;
}

/** Red, green and blue of a coarse level where the finer one has a pixel, interpolated; the same array each time. */
function sampler({ width, height, cells }: Level): (x: number, y: number) => Float64Array {
  const found = new Float64Array(3);
  return (x, y) => {
    const cy = Math.min(height - 1, Math.max(0, (y - 0.5) / 2));
    const cx = Math.min(width - 1, Math.max(0, (x - 0.5) / 2));
    const [top, left] = [Math.floor(cy), Math.floor(cx)];
    const [bottom, right] = [Math.min(height - 1, top + 1), Math.min(width - 1, left + 1)];
    for (let channel = 0; channel < 3; channel++) {
      const cell = (row: number, column: number): number =>
        cells[(row * width + column) * 4 + channel] as number;
      const upper = cell(top, left) + (cell(top, right) - cell(top, left)) * (cx - left);
      const lower = cell(bottom, left) + (cell(bottom, right) - cell(bottom, left)) * (cx - left);
      found[channel] = upper + (lower - upper) * (cy - top);
    }
    return found;
  };
}

/** Fills what a level does not know from the coarser one. */
function pull(fine: Level, coarse: Level): void {
  const colourAt = sampler(coarse);
  for (let y = 0, at = 0; y < fine.height; y++) {
    for (let x = 0; x < fine.width; x++, at += 4) {
      const known = fine.cells[at + 3] as number;
      if (known >= 1) continue;
      const colour = colourAt(x, y);
      for (let channel = 0; channel < 3; channel++)
        fine.cells[at + channel] =
          (fine.cells[at + channel] as number) + (colour[channel] as number) * (1 - known);
      fine.cells[at + 3] = 1;
    }
  }
}

/** The masked area filled from its surroundings (pull and push over a pyramid): smooth, without a seam, in the colours around it. */
export function fillMasked(image: Raster, mask: Buffer): Raster {
  const half = halfOf(image, mask);
  const levels = [half];
  for (let last = half; last.width > 1 || last.height > 1;) {
    last = halve(last);
    levels.push(last);
  }
  for (let at = levels.length - 2; at >= 0; at--) pull(levels[at] as Level, levels[at + 1] as Level);
  const colourAt = sampler(half);
  const data = Buffer.from(image.data);
  for (let y = 0, pixel = 0; y < image.height; y++)
    for (let x = 0; x < image.width; x++, pixel++) {
      if ((mask[pixel] as number) < 128) continue;
      const colour = colourAt(x, y);
      for (let channel = 0; channel < 3; channel++)
        data[pixel * 4 + channel] = Math.round(colour[channel] as number);
      data[pixel * 4 + 3] = 255;
    }
  return { ...image, data };
}

/** The grain around a filled area put over it, in place, so that it does not look polished. */
export function addGrain(filled: Raster, mask: Buffer, seed: number): Raster {
  const { data } = filled;
  let state = (seed ^ 0x9e3779b9) >>> 0;
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    if ((mask[pixel] as number) < 128) continue;
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const grain = ((state >>> 24) - 128) / 32;
    for (let channel = 0; channel < 3; channel++)
      data[at + channel] = Math.min(255, Math.max(0, Math.round((data[at + channel] as number) + grain)));
  }
  return filled;
}
