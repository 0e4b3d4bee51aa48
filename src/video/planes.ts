/** A picture as encoders want it: I420, BT.709, limited range. Width and height are even. */
export interface Planes {
  width: number;
  height: number;
  /** Luma, then both chroma planes at half the size, in one piece. */
  bytes: Buffer;
  y: Buffer;
  u: Buffer;
  v: Buffer;
}

export interface Size {
  width: number;
  height: number;
}

/** Planes over given memory, or over new memory. */
export function planesOf({ width, height }: Size, bytes = Buffer.alloc((width * height * 3) / 2)): Planes {
  const luma = width * height;
  const chroma = luma / 4;
  return {
    width,
    height,
    bytes,
    y: bytes.subarray(0, luma),
    u: bytes.subarray(luma, luma + chroma),
    v: bytes.subarray(luma + chroma, luma + 2 * chroma),
  };
}

/** Pixels of three or four bytes as planes; chroma is that of each second pixel. */
export function planesFromRgb(pixels: Uint8Array, size: Size, channels: 3 | 4): Planes {
  const planes = planesOf(size);
  const { width, height } = size;
  for (let row = 0, at = 0, to = 0; row < height; row++) {
    for (let column = 0; column < width; column++, at += channels, to++) {
      const red = pixels[at] ?? 0;
      const green = pixels[at + 1] ?? 0;
      const blue = pixels[at + 2] ?? 0;
      planes.y[to] = (4096 + 47 * red + 157 * green + 16 * blue) >> 8;
      if ((row & 1) !== 0 || (column & 1) !== 0) continue;
      const half = (row >> 1) * (width >> 1) + (column >> 1);
      planes.u[half] = (32768 - 26 * red - 87 * green + 113 * blue) >> 8;
      planes.v[half] = (32768 + 112 * red - 102 * green - 10 * blue) >> 8;
    }
  }
  return planes;
}
