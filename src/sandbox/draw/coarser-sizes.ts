interface Size {
  width: number;
  height: number;
}

const SMALLEST = 8;

/** The sizes in which a picture is drawn before it is whole, each twice as fine as the one before. */
export function coarserSizes({ width, height }: Size, count: number): Size[] {
  const side = (pixels: number, by: number): number => Math.max(SMALLEST, Math.round(pixels / by));
  return Array.from({ length: count }, (_, index) => {
    const by = 2 ** (count - index + 1);
    return { width: side(width, by), height: side(height, by) };
  });
}
