import type { AudioFormat } from '../../audio/index.js';
import { detectContentType } from '../../files/index.js';
import { SOUND_TYPES } from '../pipeline/sound-output.js';

/** The number of bytes that is enough to detect every format. */
const HEAD_BYTES = 64;
/** The maximum header of a WAV file that is shown live; with a longer header, the file is converted as a whole. */
const MOST_HEAD_BYTES = 4096;
const UNKNOWN_SIZES = new Set([0, 0x7fff_ffff, 0xffff_ffff]);

/** The decision after the first bytes: wait for more, convert the whole sound, or show these bytes of it. */
type Judged = 'later' | 'whole' | { from: number; bytes: number };

/**
 * Shows a sound while the upstream sends it, if it needs no conversion: it has the requested format, or is a WAV file with the samples of
 * `pcm`.
 */
export function liveSound(
  format: AudioFormat,
  give: (bytes: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  let head: Buffer | null = Buffer.alloc(0);
  let left = 0;
  return (bytes) => {
    let shown = bytes;
    if (head !== null) {
      head = Buffer.concat([head, bytes]);
      const judged = format === 'pcm' ? judgedAsPcm(head) : judgedAs(format, head);
      if (judged === 'later') return;
      if (judged !== 'whole') {
        left = judged.bytes;
        shown = head.subarray(judged.from);
      }
      head = null;
    }
    if (left === 0 || shown.length === 0) return;
    const part = shown.subarray(0, left);
    left -= part.length;
    give(part);
  };
}

function judgedAs(format: AudioFormat, head: Buffer): Judged {
  if (head.length < HEAD_BYTES) return 'later';
  return detectContentType(head) === SOUND_TYPES[format] ? { from: 0, bytes: Infinity } : 'whole';
}

/** The WAV header's values for 16-bit mono samples at 24 kHz. */
const PCM = { codec: 1, channels: 1, rate: 24_000, bits: 16 };

function judgedAsPcm(head: Buffer): Judged {
  const later: Judged = head.length < MOST_HEAD_BYTES ? 'later' : 'whole';
  if (head.length < HEAD_BYTES) return later;
  if (detectContentType(head) !== 'audio/wav') return 'whole';
  let isPcm = false;
  for (let at = 12; at + 8 <= head.length;) {
    const [id, size] = [head.toString('latin1', at, at + 4), head.readUInt32LE(at + 4)];
    const from = at + 8;
    if (id === 'data') return isPcm ? { from, bytes: UNKNOWN_SIZES.has(size) ? Infinity : size } : 'whole';
    if (from + size > head.length) return later;
    if (id === 'fmt ' && size >= 16)
      isPcm =
        head.readUInt16LE(from) === PCM.codec &&
        head.readUInt16LE(from + 2) === PCM.channels &&
        head.readUInt32LE(from + 4) === PCM.rate &&
        head.readUInt16LE(from + 14) === PCM.bits;
    at = from + size + (size % 2);
  }
  return later;
}
