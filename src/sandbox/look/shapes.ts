/** A picture as names of colours: an index for each pixel, -1 where it is transparent. */
export interface NamedPixels {
  names: Int8Array;
  width: number;
  height: number;
  /** 0 to 1. */
  lightness: Float32Array;
}

/** One area of one colour that stands out from the background. */
export interface Shape {
  /** Index of its colour's name. */
  colour: number;
  kind: 'rectangle' | 'square' | 'circle' | 'ellipse' | 'triangle' | 'diamond' | 'line' | 'area';
  /** Where its middle is: `top left` … `centre` … `bottom right`. */
  place: string;
  /** Of the picture. */
  share: number;
}

interface Area {
  colour: number;
  pixels: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  sumX: number;
  sumY: number;
  sumLight: number;
  sumSquares: number;
}

/** Smaller areas are texture or the rim of another. */
const MIN_SHARE = 0.006;
/** Standard deviation of lightness. */
const MAX_SPREAD = 0.035;

/** Connected areas of one colour (four neighbours), largest first. */
function areasOf({ names, width, height, lightness }: NamedPixels): Area[] {
  const seen = new Uint8Array(names.length);
  const stack = new Int32Array(names.length);
  const areas: Area[] = [];
  for (let start = 0; start < names.length; start++) {
    if (seen[start] === 1) continue;
    const colour = names[start] as number;
    const box = { left: width, right: 0, top: height, bottom: 0 };
    const area = { colour, pixels: 0, ...box, sumX: 0, sumY: 0, sumLight: 0, sumSquares: 0 };
    let depth = 0;
    const visit = (at: number): void => {
      if (seen[at] === 1 || names[at] !== colour) return;
      seen[at] = 1;
      stack[depth++] = at;
    };
    visit(start);
    while (depth > 0) {
      const at = stack[--depth] as number;
      const x = at % width;
      const y = (at - x) / width;
      area.pixels += 1;
      area.sumX += x;
      area.sumY += y;
      const light = lightness[at] as number;
      area.sumLight += light;
      area.sumSquares += light * light;
      area.left = Math.min(area.left, x);
      area.right = Math.max(area.right, x);
      area.top = Math.min(area.top, y);
      area.bottom = Math.max(area.bottom, y);
      if (x > 0) visit(at - 1);
      if (x < width - 1) visit(at + 1);
      if (y > 0) visit(at - width);
      if (y < height - 1) visit(at + width);
    }
    areas.push(area);
  }
  return areas.sort((a, b) => b.pixels - a.pixels);
}

/** The colour that most of the border has. */
export function backgroundOf({ names, width, height }: NamedPixels): number {
  const counts = new Map<number, number>();
  const count = (at: number): void => {
    const name = names[at] as number;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (let x = 0; x < width; x++) {
    count(x);
    count((height - 1) * width + x);
  }
  for (let y = 0; y < height; y++) {
    count(y * width);
    count(y * width + width - 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? -1;
}

/** Whether it is of one colour and no gradient: lightness differs by at most so much. */
function isPlain({ colour, pixels, sumLight, sumSquares }: Area): boolean {
  return colour === -1 || Math.sqrt(Math.max(0, sumSquares / pixels - (sumLight / pixels) ** 2)) < MAX_SPREAD;
}

function kindOf(area: Area): Shape['kind'] {
  const across = area.right - area.left + 1;
  const down = area.bottom - area.top + 1;
  const fill = area.pixels / (across * down);
  const even = Math.min(across, down) / Math.max(across, down);
  if (even < 0.08) return 'line';
  if (fill > 0.9) return even > 0.93 ? 'square' : 'rectangle';
  if (fill > 0.7 && fill < 0.86) return even > 0.9 ? 'circle' : 'ellipse';
  if (fill < 0.42 || fill > 0.62) return 'area';
  // Half of its box: a triangle leans to one side, a diamond is balanced.
  const leanX = Math.abs(area.sumX / area.pixels - (area.left + area.right) / 2) / across;
  const leanY = Math.abs(area.sumY / area.pixels - (area.top + area.bottom) / 2) / down;
  if (Math.max(leanX, leanY) > 0.1) return 'triangle';
  return Math.max(leanX, leanY) < 0.04 ? 'diamond' : 'area';
}

const thirds = (at: number, length: number): number => Math.min(2, Math.floor((3 * at) / length));

/** Where a point is in a picture, in words. */
export function placeOf(x: number, y: number, { width, height }: { width: number; height: number }): string {
  const row = ['top', '', 'bottom'][thirds(y, height)] ?? '';
  const column = ['left', '', 'right'][thirds(x, width)] ?? '';
  return [row, column].filter((word) => word !== '').join(' ') || 'centre';
}

/**
 * The shapes of a picture of plain areas, largest first; null where it is none (a photograph, a pattern): most of such a picture is neither
 * background nor a shape.
 */
export function shapesOf(pixels: NamedPixels, background: number): Shape[] | null {
  const total = pixels.names.length;
  const areas = areasOf(pixels);
  const large = areas.filter((area) => area.pixels >= MIN_SHARE * total);
  const covered = large.reduce((sum, area) => sum + area.pixels, 0);
  const shapes = large.filter(({ colour }) => colour !== background && colour !== -1);
  if (covered < 0.9 * total || shapes.length > 12 || !large.every(isPlain)) return null;
  return shapes.map((area) => ({
    colour: area.colour,
    kind: kindOf(area),
    place: placeOf(area.sumX / area.pixels, area.sumY / area.pixels, pixels),
    share: area.pixels / total,
  }));
}
