/** Everyday names of colours, with a typical sRGB value of each; a pixel gets the name that is nearest in Lab. */
const TYPICAL: readonly (readonly [name: string, rgb: number])[] = [
  ['black', 0x0a0a0a],
  ['dark grey', 0x484848],
  ['grey', 0x808080],
  ['light grey', 0xc4c4c4],
  ['white', 0xfafafa],
  ['dark red', 0x8b0f14],
  ['red', 0xe3201b],
  ['pink', 0xf58fb0],
  ['magenta', 0xd813b8],
  ['orange', 0xf58216],
  ['brown', 0x7a4a24],
  ['beige', 0xe2cda6],
  ['yellow', 0xf7df1c],
  ['olive', 0x7d7a1e],
  ['light green', 0x93d97c],
  ['green', 0x2fa43a],
  ['bright green', 0x00ff00],
  ['dark green', 0x14532a],
  ['turquoise', 0x35c9bd],
  ['light blue', 0x8fc7ef],
  ['blue', 0x2a5fe0],
  ['bright blue', 0x0000ff],
  ['dark blue', 0x14245e],
  ['purple', 0x7a35ad],
  ['lilac', 0xc3a2de],
];
/** Two entries may stand for one word. */
const SAME: Readonly<Record<string, string>> = { 'bright green': 'green', 'bright blue': 'blue' };

export const COLOUR_NAMES = TYPICAL.map(([name]) => SAME[name] ?? name);

const linear = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const cubic = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);

/** CIE L*a*b* of an sRGB colour (D65). */
export function labOf(red: number, green: number, blue: number): [number, number, number] {
  const [r, g, b] = [linear(red / 255), linear(green / 255), linear(blue / 255)];
  const x = cubic((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = cubic(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = cubic((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const LABS = TYPICAL.map(([, rgb]) => labOf(rgb >> 16, (rgb >> 8) & 255, rgb & 255));

/** Index into {@link COLOUR_NAMES}. */
export function nearestColour([l, a, b]: readonly [number, number, number]): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, [tl, ta, tb]] of LABS.entries()) {
    const distance = (l - tl) ** 2 + (a - ta) ** 2 + (b - tb) ** 2;
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}
