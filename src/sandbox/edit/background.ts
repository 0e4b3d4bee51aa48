import { feather } from './raster.js';
import type { Raster } from './raster.js';

type Point = [number, number, number];

/** Colours of the image's border, in three groups (k-means): what the background looks like. */
function borderColours({ data, width, height }: Raster): { centre: Point; spread: number }[] {
  const points: Point[] = [];
  const step = Math.max(1, Math.floor((width + height) / 1000));
  const take = (x: number, y: number): void => {
    const at = (y * width + x) * 4;
    points.push([data[at] as number, data[at + 1] as number, data[at + 2] as number]);
  };
  for (let x = 0; x < width; x += step) {
    take(x, 0);
    take(x, height - 1);
  }
  for (let y = 0; y < height; y += step) {
    take(0, y);
    take(width - 1, y);
  }
  let centres: Point[] = [0, 1 / 3, 2 / 3].map((part) => points[Math.floor(part * points.length)] as Point);
  for (let round = 0; round < 8; round++) centres = centres.map((_, group) => mean(points, centres, group));
  return centres.map((centre, group) => {
    const own = points.filter((point) => nearest(point, centres) === group);
    const spread = own.reduce((sum, point) => sum + distance(point, centre), 0) / Math.max(1, own.length);
    return { centre, spread };
  });
}

function distance(a: Point, b: Point): number {
  // Weighted for the eye: green counts most, blue least.
  return Math.sqrt(2 * (a[0] - b[0]) ** 2 + 4 * (a[1] - b[1]) ** 2 + 3 * (a[2] - b[2]) ** 2) / 3;
}

function nearest(point: Point, centres: Point[]): number {
  const distances = centres.map((centre) => distance(point, centre));
  return distances.indexOf(Math.min(...distances));
}

function mean(points: Point[], centres: Point[], group: number): Point {
  const own = points.filter((point) => nearest(point, centres) === group);
  if (own.length === 0) return centres[group] as Point;
  return [0, 1, 2].map(
    (part) => own.reduce((sum, point) => sum + (point[part] as number), 0) / own.length,
  ) as Point;
}

/** Marks a pixel with a background colour, before it is known whether it is connected to the border. */
const LIKE_BACKGROUND = 1;

/** Makes 0 what is {@link LIKE_BACKGROUND} and connected to a pixel: row by row, as a list of pixels would take more memory than the picture. */
function flood(alpha: Buffer, { width, height }: Raster, from: number): void {
  const seeds = [from];
  const isOpen = (pixel: number): boolean => alpha[pixel] === LIKE_BACKGROUND;
  /** Where runs begin in another row, under or over a stretch of this one. */
  const seek = (left: number, right: number): void => {
    for (let pixel = left, inside = false; pixel <= right; pixel++) {
      const open = isOpen(pixel);
      if (open && !inside) seeds.push(pixel);
      inside = open;
    }
  };
  for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
    if (!isOpen(seed)) continue;
    const start = seed - (seed % width);
    let [left, right] = [seed, seed];
    while (left > start && isOpen(left - 1)) left--;
    while (right < start + width - 1 && isOpen(right + 1)) right++;
    alpha.fill(0, left, right + 1);
    if (start > 0) seek(left - width, right - width);
    if (start < width * (height - 1)) seek(left + width, right + width);
  }
}

/**
 * The opacity of each pixel as foreground, 0 to 255: pixels with the border's colours that are connected to the border are background. Very good on
 * plain backgrounds, partial on scenes.
 */
export async function foreground(image: Raster): Promise<Buffer> {
  const { data, width, height } = image;
  const groups = borderColours(image);
  const isBackground = (at: number): boolean => {
    if ((data[at + 3] as number) < 16) return true;
    const point: Point = [data[at] as number, data[at + 1] as number, data[at + 2] as number];
    return groups.some(({ centre, spread }) => distance(point, centre) < 16 + 2.5 * spread);
  };
  const alpha = Buffer.alloc(width * height, 255);
  for (let pixel = 0; pixel < alpha.length; pixel++)
    if (isBackground(pixel * 4)) alpha[pixel] = LIKE_BACKGROUND;
  for (let x = 0; x < width; x++) {
    flood(alpha, image, x);
    flood(alpha, image, (height - 1) * width + x);
  }
  for (let y = 0; y < height; y++) {
    flood(alpha, image, y * width);
    flood(alpha, image, y * width + width - 1);
  }
  for (let pixel = 0; pixel < alpha.length; pixel++) if (alpha[pixel] === LIKE_BACKGROUND) alpha[pixel] = 255;
  return await feather(alpha, image, 0.8);
}
