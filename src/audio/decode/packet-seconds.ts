import { ALL_FORMATS, EncodedPacketSink, Input } from 'mediabunny';
import { watchedSource } from '../../media/watched-source.js';
import { UnreadableAudioError } from '../audio.types.js';
import { secondsOfAac } from './aac-packets.js';
import type { Probed } from './probe.js';

/** Of codecs that are not decoded here, what each packet holds. */
const SAMPLES: Readonly<Record<string, number>> = { ac3: 1536, eac3: 1536 };
/** Opus tells its packets' lengths by this clock, whatever rate a file names. */
const OPUS_RATE = 48_000;
/** Of one frame, by the five bits that name its mode. */
const OPUS_FRAMES = [480, 960, 1920, 2880] as const;
const OPUS_SHORT_FRAMES = [120, 240, 480, 960] as const;

const PAGE = Buffer.from('OggS', 'latin1');
const PAGE_HEAD = 27;
const OPUS_HEADS = ['OpusHead', 'OpusTags'];

/** Samples of a packet of Opus, by its own first bytes. */
function opusSamples(first = 0, second = 0): number {
  const mode = first >> 3;
  const size = mode & 3;
  const length =
    mode >= 16
      ? OPUS_SHORT_FRAMES[size as 0]
      : mode >= 12
        ? (OPUS_FRAMES[(mode & 1) as 0] ?? 0)
        : OPUS_FRAMES[size as 0];
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2;
  // A packet holds 120 ms at most.
  return Math.min(length * frames, OPUS_RATE * 0.12);
}

/** All that sounds in an Ogg file, also where several were put behind each other; between pages may be anything. */
function secondsOfOggOpus(bytes: Uint8Array): number {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let samples = 0;
  let isContinued = false;
  for (
    let at = file.indexOf(PAGE);
    at >= 0 && at + PAGE_HEAD <= file.length;
    at = file.indexOf(PAGE, at + 4)
  ) {
    const table = at + PAGE_HEAD;
    const segments = file[at + 26] ?? 0;
    let packet = table + segments;
    let start = packet;
    for (let segment = table; segment < table + segments; segment++) {
      const size = file[segment] ?? 0;
      packet += size;
      if (size === 255) continue;
      const isHead = OPUS_HEADS.includes(file.toString('latin1', start, start + 8));
      if (!isContinued && !isHead && packet > start && packet <= file.length)
        samples += opusSamples(file[start], file[start + 1]);
      isContinued = false;
      start = packet;
    }
    // A packet that goes on in the next page was counted where it began.
    if (start < packet) {
      if (!isContinued) samples += opusSamples(file[start], file[start + 1]);
      isContinued = true;
    }
    at = Math.max(at, Math.min(packet, file.length) - 4);
  }
  return samples / OPUS_RATE;
}

type Length = (packet: { data: Uint8Array; duration: number }) => number;

function lengthOf({ codec, contentType, sampleRate }: Probed): Length | null {
  const samples = SAMPLES[codec ?? ''];
  if (samples !== undefined) return () => samples / sampleRate;
  if (codec === 'opus') return ({ data }) => opusSamples(data[0], data[1]) / OPUS_RATE;
  // Files of nothing but frames: a packet's duration is what the frame itself tells.
  return contentType === 'audio/mpeg' || contentType === 'audio/flac' ? ({ duration }) => duration : null;
}

/**
 * How long a file sounds by what its packets are made of, not by the times that a container tells of them; much faster than to decode it.
 * @returns null for codecs whose packets do not tell
 * @throws UnreadableAudioError
 */
export async function packetSeconds(bytes: Uint8Array, probed: Probed): Promise<number | null> {
  if (probed.codec === 'aac') return await secondsOfAac(bytes);
  if (probed.codec === 'opus' && probed.contentType === 'audio/ogg') return secondsOfOggOpus(bytes);
  const length = lengthOf(probed);
  if (length === null) return null;
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(bytes) });
  try {
    const track = await input.getPrimaryAudioTrack();
    let seconds = 0;
    if (track !== null)
      for await (const packet of new EncodedPacketSink(track).packets()) seconds += length(packet);
    return seconds;
  } catch (error) {
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'unreadable');
  } finally {
    input.dispose();
  }
}
