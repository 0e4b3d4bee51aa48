/** Half of a patch's side, without its middle. */
const REACH = 3;
const ITERATIONS = 4;
/** On the coarsest canvas, where the large shapes are found. */
const FIRST_ITERATIONS = 16;
/** Draws around the best place so far, each half as far away as the one before. */
const SEARCHES = 6;

/** A picture while its hole is being filled. */
export interface Canvas {
  width: number;
  height: number;
  /** Red, green, blue. */
  colours: Float32Array;
  /** 1 where nothing is known. */
  hole: Uint8Array;
}

/** For each pixel the middle of the patch that is most like the one around it; −1 where none is needed. */
export type Field = Int32Array;

interface Search extends Canvas {
  /** Middles of patches that are known as a whole. */
  sources: Int32Array;
  isSource: Uint8Array;
  /** Pixels whose patch touches the hole. */
  targets: Int32Array;
  random: () => number;
}

/** Pixels whose patch lies in the picture, by whether it touches the hole. */
function prepare(canvas: Canvas, random: () => number): Search | null {
  const { width, height, hole } = canvas;
  const sums = new Int32Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      sums[(y + 1) * (width + 1) + x + 1] =
        (hole[y * width + x] ?? 0) +
        (sums[y * (width + 1) + x + 1] ?? 0) +
        (sums[(y + 1) * (width + 1) + x] ?? 0) -
        (sums[y * (width + 1) + x] ?? 0);
  const sum = (x: number, y: number) =>
    sums[Math.max(0, Math.min(height, y)) * (width + 1) + Math.max(0, Math.min(width, x))] ?? 0;
  const [sources, targets]: [number[], number[]] = [[], []];
  const isSource = new Uint8Array(width * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [left, top, right, bottom] = [x - REACH, y - REACH, x + REACH + 1, y + REACH + 1];
      const touches = sum(right, bottom) - sum(left, bottom) - sum(right, top) + sum(left, top) > 0;
      if (touches) targets.push(y * width + x);
      else if (left >= 0 && top >= 0 && right <= width && bottom <= height) {
        sources.push(y * width + x);
        isSource[y * width + x] = 1;
      }
    }
  return sources.length === 0
    ? null
    : { ...canvas, sources: Int32Array.from(sources), isSource, targets: Int32Array.from(targets), random };
}

/** How unlike two patches are; given up once it is more than `limit`. */
function distances({
  width,
  height,
  colours,
}: Search): (target: number, source: number, limit: number) => number {
  return (target, source, limit) => {
    const tx = target % width;
    const ty = (target - tx) / width;
    let total = 0;
    let count = 0;
    for (let dy = -REACH; dy <= REACH; dy++) {
      if (ty + dy < 0 || ty + dy >= height) continue;
      for (let dx = -REACH; dx <= REACH; dx++) {
        if (tx + dx < 0 || tx + dx >= width) continue;
        const step = dy * width + dx;
        const [a, b] = [(target + step) * 3, (source + step) * 3];
        const red = (colours[a] as number) - (colours[b] as number);
        const green = (colours[a + 1] as number) - (colours[b + 1] as number);
        const blue = (colours[a + 2] as number) - (colours[b + 2] as number);
        total += red * red + green * green + blue * blue;
        count++;
      }
      if (total > limit * (2 * REACH + 1) ** 2) return Number.POSITIVE_INFINITY;
    }
    return total / count;
  };
}

/** One pass: tries the neighbours' matches shifted by one pixel, then random places around the best one. */
function improve(search: Search, field: Field, forward: boolean): void {
  const { width, height, targets, isSource, random } = search;
  const distance = distances(search);
  const back = forward ? -1 : 1;
  for (let index = 0; index < targets.length; index++) {
    const at = targets[forward ? index : targets.length - 1 - index] as number;
    let best = field[at] as number;
    let bestDistance = distance(at, best, Number.POSITIVE_INFINITY);
    const consider = (source: number): void => {
      if (isSource[source] !== 1) return;
      const found = distance(at, source, bestDistance);
      if (found < bestDistance) [best, bestDistance] = [source, found];
    };
    for (const step of [back, back * width]) {
      const neighbour = field[at + step] ?? -1;
      if (neighbour >= 0) consider(neighbour - step);
    }
    for (let draw = 0, far = Math.max(width, height); draw < SEARCHES && far >= 1; draw++, far /= 2) {
      const x = (best % width) + Math.round((random() * 2 - 1) * far);
      const y = Math.floor(best / width) + Math.round((random() * 2 - 1) * far);
      if (x >= 0 && y >= 0 && x < width && y < height) consider(y * width + x);
    }
    field[at] = best;
  }
}

/** Each unknown pixel becomes the weighted mean of the values that the overlapping patches propose. */
function vote({ width, height, colours, hole, targets }: Search, field: Field): void {
  const sums = new Float32Array(width * height * 4);
  for (const target of targets) {
    const tx = target % width;
    const ty = (target - tx) / width;
    const source = field[target] as number;
    for (let dy = -REACH; dy <= REACH; dy++)
      for (let dx = -REACH; dx <= REACH; dx++) {
        if (tx + dx < 0 || ty + dy < 0 || tx + dx >= width || ty + dy >= height) continue;
        const to = target + dy * width + dx;
        if (hole[to] !== 1) continue;
        const from = (source + dy * width + dx) * 3;
        // Pixels near the middle of a patch weigh most.
        const weight = 1 / (1 + dx * dx + dy * dy);
        for (let channel = 0; channel < 3; channel++)
          sums[to * 4 + channel] =
            (sums[to * 4 + channel] as number) + weight * (colours[from + channel] as number);
        sums[to * 4 + 3] = (sums[to * 4 + 3] as number) + weight;
      }
  }
  for (let pixel = 0; pixel < hole.length; pixel++) {
    const weight = sums[pixel * 4 + 3] as number;
    if (hole[pixel] !== 1 || weight === 0) continue;
    for (let channel = 0; channel < 3; channel++)
      colours[pixel * 3 + channel] = (sums[pixel * 4 + channel] as number) / weight;
  }
}

/** A coarser field, twice as large. */
function enlarged(search: Search, coarse: { field: Field; width: number; height: number } | null): Field {
  const { width, sources, isSource, targets, random } = search;
  const field = new Int32Array(search.width * search.height).fill(-1);
  for (const target of targets) {
    const [x, y] = [target % width, Math.floor(target / width)];
    let source = -1;
    if (coarse !== null) {
      const at = Math.min(coarse.height - 1, y >> 1) * coarse.width + Math.min(coarse.width - 1, x >> 1);
      const found = coarse.field[at] ?? -1;
      if (found >= 0)
        source =
          (Math.floor(found / coarse.width) * 2 + (y & 1)) * width + (found % coarse.width) * 2 + (x & 1);
    }
    field[target] =
      isSource[source] === 1 ? source : (sources[Math.floor(random() * sources.length)] as number);
  }
  return field;
}

/**
 * Fills the hole with pieces of what is around it (PatchMatch, Barnes et al. 2009). The canvas holds a first guess in its hole.
 * @returns the field, for the next larger canvas; null where there is nothing to take pieces from
 */
export function fillFromPatches(
  canvas: Canvas,
  coarse: { field: Field; width: number; height: number } | null,
  random: () => number,
): Field | null {
  const search = prepare(canvas, random);
  if (search === null) return null;
  const field = enlarged(search, coarse);
  if (coarse !== null) vote(search, field);
  const rounds = coarse === null ? FIRST_ITERATIONS : ITERATIONS;
  for (let round = 0; round < rounds; round++) {
    improve(search, field, round % 2 === 0);
    vote(search, field);
  }
  return field;
}
