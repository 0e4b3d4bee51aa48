import { createHash } from 'node:crypto';

/** How one thing moves: around a middle, each axis with its own width, speed and start. */
export interface Orbit {
  x: number;
  y: number;
  width: number;
  height: number;
  turnsX: number;
  turnsY: number;
  startX: number;
  startY: number;
}

/** Numbers in [0, 1) that depend on the seed alone. */
export function createNumbers(seed: string): () => number {
  let block = 0;
  let at = 0;
  let digest = Buffer.alloc(0);
  return () => {
    if (at + 4 > digest.length) {
      digest = createHash('sha256').update(`${seed}\n${block++}`).digest();
      at = 0;
    }
    const value = digest.readUInt32LE(at) / 4_294_967_296;
    at += 4;
    return value;
  };
}

interface OrbitOptions {
  next: () => number;
  /** Whole turns only: after the last frame comes the first. */
  loop: boolean;
  seconds: number;
}

/** A turn takes 6 to 14 seconds; in a loop the nearest whole number of turns, at least one. */
function turns({ next, loop, seconds }: OrbitOptions): number {
  const wished = seconds / (6 + next() * 8);
  const way = next() < 0.5 ? -1 : 1;
  return way * (loop ? Math.max(1, Math.round(wished)) : wished);
}

/** Places from 0 to 1. */
export function createOrbit(options: OrbitOptions): Orbit {
  const { next } = options;
  return {
    x: 0.2 + next() * 0.6,
    y: 0.15 + next() * 0.55,
    width: 0.1 + next() * 0.25,
    height: 0.1 + next() * 0.25,
    turnsX: turns(options),
    turnsY: turns(options),
    startX: next(),
    startY: next(),
  };
}

/** Where it is at a time from 0 (first frame) to 1 (the frame after the last). */
export function placeOf(orbit: Orbit, time: number): { x: number; y: number } {
  return {
    x: orbit.x + orbit.width * Math.sin(2 * Math.PI * (orbit.startX + orbit.turnsX * time)),
    y: orbit.y + orbit.height * Math.cos(2 * Math.PI * (orbit.startY + orbit.turnsY * time)),
  };
}
