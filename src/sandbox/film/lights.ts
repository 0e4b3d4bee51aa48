import { createOrbit, placeOf } from './motion.js';
import type { Orbit } from './motion.js';
import type { Planes } from '../../video/child-index.js';
import { toYuv } from './paint.js';
import type { Yuv } from './paint.js';

/** A soft disc of light that moves. */
export interface Light {
  orbit: Orbit;
  radius: number;
  colour: Yuv;
  /** How much of it covers each pixel, 0 to 255, of the full and of half the size. */
  mask: Uint8Array;
  halfMask: Uint8Array;
}

function softDisc(radius: number, strength: number): Uint8Array {
  const side = radius * 2;
  const mask = new Uint8Array(side * side);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const distance = Math.hypot(x + 0.5 - radius, y + 0.5 - radius) / radius;
      mask[y * side + x] = distance >= 1 ? 0 : Math.round(255 * strength * (1 - distance * distance) ** 2);
    }
  return mask;
}

function hueToRgb(hue: number): [number, number, number] {
  const channel = (shift: number) => {
    const k = (shift + hue / 30) % 12;
    return 255 * (0.72 - 0.28 * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}

export interface LightsOptions {
  count: number;
  hue: number;
  /** Of the picture's shorter side. */
  shortSide: number;
  next: () => number;
  loop: boolean;
  seconds: number;
}

export function createLights({ count, hue, shortSide, ...motion }: LightsOptions): Light[] {
  const { next } = motion;
  return Array.from({ length: count }, () => {
    const radius = Math.max(4, Math.round((shortSide * (0.03 + next() * 0.07)) / 2) * 2);
    const strength = 0.45 + next() * 0.45;
    return {
      orbit: createOrbit(motion),
      radius,
      colour: toYuv(...hueToRgb((hue + (next() - 0.5) * 80 + 360) % 360)),
      mask: softDisc(radius, strength),
      halfMask: softDisc(radius / 2, strength),
    };
  });
}

interface Stamp {
  plane: Buffer;
  width: number;
  height: number;
  mask: Uint8Array;
  radius: number;
  centreX: number;
  centreY: number;
  value: number;
}

function stamp({ plane, width, height, mask, radius, centreX, centreY, value }: Stamp): void {
  const side = radius * 2;
  const left = centreX - radius;
  const top = centreY - radius;
  const from = Math.max(0, -left);
  const to = Math.min(side, width - left);
  for (let row = Math.max(0, -top); row < Math.min(side, height - top); row++) {
    const start = (top + row) * width + left;
    for (let column = from; column < to; column++) {
      const cover = mask[row * side + column] ?? 0;
      const old = plane[start + column] ?? 0;
      plane[start + column] = old + (((value - old) * cover) >> 8);
    }
  }
}

/** Draws a light where it is at that time (0 to 1). */
export function drawLight(light: Light, to: Planes, time: number): void {
  const place = placeOf(light.orbit, time);
  const { colour, mask, halfMask, radius } = light;
  const centreX = Math.round((place.x * to.width) / 2);
  const centreY = Math.round((place.y * to.height) / 2);
  const half = {
    width: to.width / 2,
    height: to.height / 2,
    mask: halfMask,
    radius: radius / 2,
    centreX,
    centreY,
  };
  stamp({ ...half, plane: to.u, value: Math.round(colour.u) });
  stamp({ ...half, plane: to.v, value: Math.round(colour.v) });
  const full = { width: to.width, height: to.height, mask, radius };
  stamp({ ...full, plane: to.y, centreX: centreX * 2, centreY: centreY * 2, value: Math.round(colour.y) });
}
