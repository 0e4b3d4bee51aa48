import sharp from 'sharp';
import { COLOUR_NAMES, labOf, nearestColour } from './colour-names.js';
import { readMark } from '../../imaging/child-index.js';
import { backgroundOf, shapesOf } from './shapes.js';
import type { NamedPixels, Shape } from './shapes.js';

/** Measurements of a picture, without recognising objects: the same for the same file. */
export interface PictureFacts {
  format: string;
  /** After the rotation that the file's metadata asks for. */
  width: number;
  height: number;
  /** Share of pixels that are more than half transparent. */
  transparent: number;
  /** 0 black to 1 white, of what is not transparent. */
  brightness: number;
  /** Standard deviation of lightness, 0 to 0.5. */
  contrast: number;
  /** Mean step between neighbouring pixels' lightness, 0 to 1. */
  detail: number;
  grey: boolean;
  /** The largest first, each at least 3 percent. */
  colours: { name: string; share: number }[];
  background: string | null;
  /** Null where the picture is not made of plain areas. */
  shapes: (Omit<Shape, 'colour'> & { colour: string })[] | null;
  /** Colours of the upper, middle and lower third. */
  bands: [string, string, string];
  /** The prompt that the sandbox stored in the file; null if there is none. */
  madeFor: string | null;
}

/** The picture is looked at in this size: areas and colours are all that is wanted. */
const SIDE = 128;
const MAX_SHAPES = 6;

interface Seen extends NamedPixels {
  lightness: Float32Array;
  chroma: Float32Array;
}

/** @throws Error where the file cannot be read, or has more pixels than that */
export async function look(bytes: Uint8Array, limitInputPixels: number): Promise<PictureFacts> {
  const { format, autoOrient } = await sharp(bytes, { limitInputPixels }).metadata();
  const { data, info } = await sharp(bytes, { limitInputPixels, failOn: 'error' })
    .autoOrient()
    .resize(SIDE, SIDE, {
      fit: 'inside',
      kernel: 'nearest',
      withoutEnlargement: true,
      fastShrinkOnLoad: false,
    })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const seen = namesOf(data, info);
  const background = backgroundOf(seen);
  const shapes = shapesOf(seen, background)?.slice(0, MAX_SHAPES) ?? null;
  const opaque = [...seen.lightness].filter((_, at) => seen.names[at] !== -1);
  const mean = opaque.reduce((sum, value) => sum + value, 0) / Math.max(1, opaque.length);
  const spread = opaque.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, opaque.length);
  return {
    format,
    width: autoOrient.width,
    height: autoOrient.height,
    transparent: 1 - opaque.length / seen.names.length,
    brightness: mean,
    contrast: Math.sqrt(spread),
    detail: detailOf(seen),
    grey: seen.chroma.every((chroma, at) => seen.names[at] === -1 || chroma < 8),
    colours: coloursOf(seen.names),
    background: COLOUR_NAMES[background] ?? null,
    shapes: shapes?.map((shape) => ({ ...shape, colour: COLOUR_NAMES[shape.colour] ?? '' })) ?? null,
    bands: [0, 1, 2].map((band) => bandColour(seen, band)) as PictureFacts['bands'],
    madeFor: readMark(bytes),
  };
}

function namesOf(data: Buffer, { width, height }: { width: number; height: number }): Seen {
  const names = new Int8Array(width * height);
  const lightness = new Float32Array(names.length);
  const chroma = new Float32Array(names.length);
  for (let at = 0; at < names.length; at++) {
    const [red = 0, green = 0, blue = 0, alpha = 255] = data.subarray(at * 4, at * 4 + 4);
    const lab = labOf(red, green, blue);
    names[at] = alpha < 128 ? -1 : nearestColour(lab);
    lightness[at] = lab[0] / 100;
    chroma[at] = Math.hypot(lab[1], lab[2]);
  }
  return { names, width, height, lightness, chroma };
}

function coloursOf(names: Int8Array): PictureFacts['colours'] {
  const counts = new Map<string, number>();
  for (const name of names) {
    const word = COLOUR_NAMES[name];
    if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .map(([name, count]) => ({ name, share: count / names.length }))
    .filter(({ share }) => share >= 0.03)
    .sort((a, b) => b.share - a.share || (a.name < b.name ? -1 : 1));
}

function bandColour({ names, width, height }: Seen, band: number): string {
  const rows = Math.max(1, Math.floor(height / 3));
  const from = Math.min(height - 1, band * rows) * width;
  const [colour] = coloursOf(names.subarray(from, from + rows * width));
  return colour?.name ?? 'transparent';
}

function detailOf({ lightness, width, height }: Seen): number {
  let sum = 0;
  let count = 0;
  for (let at = 0; at < lightness.length; at++) {
    const value = lightness[at] as number;
    if (at % width < width - 1)
      [sum, count] = [sum + Math.abs(value - (lightness[at + 1] as number)), count + 1];
    if (at < width * (height - 1))
      [sum, count] = [sum + Math.abs(value - (lightness[at + width] as number)), count + 1];
  }
  return count === 0 ? 0 : sum / count;
}
