import type { Random } from '../random.js';

/** Colours of one picture, as CSS `hsl(…)`. */
export interface Palette {
  sky: [string, string];
  light: string;
  shapes: [string, ...string[]];
  ink: string;
}

export interface ArtStyle {
  /** `vivid`: saturated, wide apart; `natural`: muted, close together, earthy. */
  style: 'vivid' | 'natural';
}

/** Words of a prompt that select a hue. */
const HUES: Record<string, number> = {
  red: 0,
  fire: 12,
  orange: 28,
  sunset: 20,
  autumn: 26,
  desert: 38,
  gold: 46,
  yellow: 54,
  sun: 48,
  forest: 128,
  green: 135,
  grass: 110,
  leaf: 118,
  sea: 190,
  ocean: 202,
  lake: 195,
  blue: 216,
  sky: 208,
  water: 200,
  night: 238,
  space: 250,
  purple: 275,
  violet: 282,
  pink: 330,
  rose: 340,
};

const wordsOf = (text: string) => text.toLowerCase().match(/\p{L}+/gu) ?? [];

/** The hue that a text names first, or null. Words of the negative prompt are ignored. */
export function hueOf(prompt: string, negativePrompt: string): number | null {
  const unwanted = new Set(wordsOf(negativePrompt));
  const found = wordsOf(prompt).find((word) => Object.hasOwn(HUES, word) && !unwanted.has(word));
  return found === undefined ? null : (HUES[found] ?? null);
}

const hsl = (hue: number, saturation: number, lightness: number) =>
  `hsl(${Math.round(((hue % 360) + 360) % 360)},${Math.round(saturation)}%,${Math.round(lightness)}%)`;

export function createPalette(random: Random, hue: number | null, { style }: ArtStyle): Palette {
  const base = hue ?? (style === 'natural' ? 20 + random.next() * 180 : random.next() * 360);
  const vivid = style === 'vivid';
  const spread = vivid ? 65 + random.next() * 60 : 12 + random.next() * 16;
  const saturation = vivid ? 84 : 26;
  const shade = (step: number) =>
    hsl(base + spread * step, saturation - step * (vivid ? 4 : 3), (vivid ? 60 : 56) - step * 9);
  return {
    sky: [hsl(base + spread, saturation - 8, vivid ? 74 : 84), hsl(base, saturation, vivid ? 46 : 66)],
    light: hsl(base + (vivid ? 180 : 30), vivid ? 96 : 40, 82),
    shapes: [shade(0), shade(1), shade(2), shade(3), shade(4)],
    ink: hsl(base, vivid ? 60 : 20, 14),
  };
}
