import type { Raster } from './raster.js';

export type Colour = [red: number, green: number, blue: number];

/** The colours that words of a prompt select, from top to bottom. */
const WORDS: [RegExp, Colour, Colour][] = [
  [/\b(sunset|sunrise|dusk|dawn)\b/i, [60, 50, 120], [250, 150, 70]],
  [/\b(night|space|star|galaxy|dark)\b/i, [8, 10, 30], [45, 45, 90]],
  [/\b(forest|jungle|wood|tree|grass|garden|field|green)\b/i, [40, 110, 60], [110, 170, 80]],
  [/\b(sea|ocean|beach|lake|river|water|blue|sky)\b/i, [110, 175, 235], [30, 100, 170]],
  [/\b(desert|sand|dune|yellow|gold)\b/i, [240, 205, 120], [200, 150, 80]],
  [/\b(snow|ice|winter|white)\b/i, [235, 243, 250], [190, 210, 230]],
  [/\b(fire|lava|red|rose)\b/i, [160, 25, 20], [245, 120, 50]],
  [/\b(city|street|office|studio|gr[ea]y|concrete)\b/i, [150, 158, 168], [90, 96, 106]],
  [/\b(pink|purple|violet|magenta|flower)\b/i, [150, 80, 180], [240, 150, 200]],
  [/\b(wood|brown|autumn|earth)\b/i, [110, 70, 40], [190, 140, 90]],
  [/\b(black)\b/i, [10, 10, 12], [40, 40, 44]],
];

/** FNV-1a: the same text gives the same number everywhere. */
export function hashOf(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

function hue(degrees: number, saturation: number, lightness: number): Colour {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const part = (n: number): number => {
    const k = (n + degrees / 30) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

/** Two colours for a text: those of its words, else some of its own. */
export function coloursOf(text: string): [Colour, Colour] {
  const known = WORDS.find(([word]) => word.test(text));
  if (known !== undefined) return [known[1], known[2]];
  const value = hashOf(text);
  const degrees = value % 360;
  return [hue(degrees, 0.55, 0.35), hue((degrees + 40 + ((value >>> 9) % 80)) % 360, 0.6, 0.68)];
}

/** Smooth value noise between 0 and 1, the same for the same seed. */
function noise(seed: number): (x: number, y: number) => number {
  const lattice = (x: number, y: number): number => {
    let value = Math.imul(x, 374_761_393) ^ Math.imul(y, 668_265_263) ^ seed;
    value = Math.imul(value ^ (value >>> 13), 1_274_126_177);
    return ((value ^ (value >>> 16)) >>> 0) / 4_294_967_296;
  };
  return (x, y) => {
    const left = Math.floor(x);
    const top = Math.floor(y);
    const ease = (t: number): number => t * t * (3 - 2 * t);
    const across = ease(x - left);
    const down = ease(y - top);
    const upper = lattice(left, top) + (lattice(left + 1, top) - lattice(left, top)) * across;
    const lower = lattice(left, top + 1) + (lattice(left + 1, top + 1) - lattice(left, top + 1)) * across;
    return upper + (lower - upper) * down;
  };
}

/** A scene in a text's colours: a gradient with soft clouds. */
export function paint(
  text: string,
  seed: number,
  { width, height }: Pick<Raster, 'width' | 'height'>,
): Raster {
  const [top, bottom] = coloursOf(text);
  const cloud = noise(hashOf(text) ^ seed);
  const scale = 6 / Math.max(width, height);
  const data = Buffer.alloc(width * height * 4, 255);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const soft = cloud(x * scale, y * scale) * 0.6 + cloud(x * scale * 3, y * scale * 3) * 0.4;
      const share = Math.min(1, Math.max(0, y / height + (soft - 0.5) * 0.5));
      for (let channel = 0; channel < 3; channel++) {
        const from = top[channel] as number;
        data[at + channel] = Math.round(
          from + ((bottom[channel] as number) - from) * share + (soft - 0.5) * 24,
        );
      }
    }
  }
  return { data, width, height };
}
