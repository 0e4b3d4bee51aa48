/**
 * Sound that begins behind other bytes (the end of another file, a server's page, zeros), as people's players read it: they look for the first frames
 * or page. Such a file is written anew without those bytes.
 */
import { adtsFrameAt } from './adts-frames.js';

const PAGE = Buffer.from('OggS\0\x02', 'latin1');
/** Formats with a signature; ID3 tags may be followed by frames of each kind. */
const SIGNATURE = /^(?:RIFF|RIFX|RF64|OggS|fLaC|ID3|FORM|[^]E\xdf\xa3|[^]{4}ftyp)/;
const LONGEST_SIGNATURE = 8;
/** So many frames in a row are no chance. */
const RUN = 4;
const HEADER = 4;

/** kbit/s by the four bits of a header, without the first (free) and the last (forbidden). */
const BIT_RATES: Readonly<Record<string, readonly number[]>> = {
  '1 1': [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1 2': [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1 3': [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2 1': [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2 2': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  '2 3': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const SAMPLE_RATES = [44_100, 48_000, 32_000];

interface Frame {
  length: number;
  /** The same in all frames of a file. */
  kind: number;
}

/** A frame of MPEG audio (layers I to III) at a place; null: none begins there. */
function mpegFrameAt(file: Buffer, at: number): Frame | null {
  const [first = 0, second = 0, third = 0] = file.subarray(at, at + HEADER);
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const rate = SAMPLE_RATES[(third >> 2) & 3];
  if (first !== 0xff || second >> 5 !== 7 || version === 1 || layer === 4 || rate === undefined) return null;
  const isFirst = version === 3;
  const kbits = BIT_RATES[`${isFirst ? 1 : 2} ${layer}`]?.[(third >> 4) - 1];
  if (kbits === undefined) return null;
  const hertz = isFirst ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (third >> 1) & 1;
  const slots = (factor: number) => Math.floor((factor * kbits * 1000) / hertz) + padding;
  const length = layer === 1 ? slots(12) * 4 : slots(layer === 3 && !isFirst ? 72 : 144);
  return { length, kind: (second << 8) | (third & 0x0c) };
}

const frameAt = (file: Buffer, at: number): Frame | null => mpegFrameAt(file, at) ?? adtsFrameAt(file, at);

/** Whether several frames of one kind follow one another from there, or all that is left. */
function isRun(file: Buffer, from: number): boolean {
  let at = from;
  let kind: number | undefined;
  for (let count = 0; count < RUN; count++) {
    if (at === file.length && count > 1) return true;
    const frame = frameAt(file, at);
    if (frame === null || (kind !== undefined && frame.kind !== kind)) return false;
    kind = frame.kind;
    at += frame.length;
  }
  return true;
}

function firstRun(file: Buffer): number {
  let at = file.indexOf(0xff);
  while (at >= 0 && !isRun(file, at)) at = file.indexOf(0xff, at + 1);
  return at;
}

/** The same file if it begins with sound, or with a format's signature, and if there is no sound; else from the first frame or page on. */
export function fromItsStart(bytes: Uint8Array): Uint8Array {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (SIGNATURE.test(file.toString('latin1', 0, LONGEST_SIGNATURE)) || isRun(file, 0)) return bytes;
  const found = [firstRun(file), file.indexOf(PAGE)].filter((at) => at > 0);
  return found.length === 0 ? bytes : file.subarray(Math.min(...found));
}
