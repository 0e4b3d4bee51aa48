import { UnreadableAudioError } from '../audio.types.js';
import type { Decoded } from '../audio.types.js';
import { decodeAacPackets } from './aac-packets.js';
import { decodeAlacPackets } from './alac-packets.js';
import { asMatroska, MOVED_CODECS } from './matroska.js';
import type { Probed } from './probe.js';
import { withTrueWave } from './wave-sizes.js';

/** Fed in small pieces: even the best compressed silence then decodes to little at a time. */
const PIECE_BYTES = 4096;
const WAVE_PIECE_BYTES = 1 << 16;
const MAX_RESIDENT_BYTES = 768 * 1024 * 1024;

interface Samples {
  channelData: Float32Array[];
  sampleRate: number;
}
/** What the packages' streaming decoders have in common; `flush` is of those that keep samples back until the end. */
interface Decoder {
  decode(piece: Uint8Array): Samples | Promise<Samples>;
  flush?(): Samples | Promise<Samples>;
  free(): void;
}

/** Each decoder is loaded when it is first needed: all are WebAssembly. */
async function openDecoder({ contentType, codec }: Probed): Promise<Decoder | null> {
  switch (contentType) {
    case 'audio/mpeg':
      return (await import('@audio/decode-mp3')).decoder();
    case 'audio/wav':
      return (await import('@audio/decode-wav')).decoder();
    case 'audio/flac':
      return (await import('@audio/decode-flac')).decoder();
    case 'audio/mp4':
      return MOVED_CODECS.has(codec ?? '') ? (await import('@audio/decode-webm')).decoder() : null;
    case 'audio/webm':
      return (await import('@audio/decode-webm')).decoder();
    case 'audio/ogg':
      if (codec === 'opus') return (await import('@audio/decode-opus')).decoder();
      return codec === 'vorbis' ? (await import('@audio/decode-vorbis')).decoder() : null;
    default:
      return null;
  }
}

/**
 * Decodes piece by piece, never more than `maxSeconds`.
 * @throws UnreadableAudioError for what cannot be decoded
 */
export async function* decodeAudio(
  bytes: Uint8Array,
  probed: Probed,
  maxSeconds: number,
): AsyncGenerator<Decoded> {
  let frames = 0;
  for await (const piece of piecesOf(bytes, probed)) {
    const length = piece.channels[0]?.length ?? 0;
    if (length === 0 || piece.sampleRate === 0) continue;
    frames += length;
    yield piece;
    if (frames > maxSeconds * piece.sampleRate) return;
    if (process.memoryUsage.rss() > MAX_RESIDENT_BYTES)
      throw new UnreadableAudioError('too much memory is needed');
  }
  if (frames === 0) throw new UnreadableAudioError('audio without samples');
}

/** What the container's decoder takes. */
async function plain(bytes: Uint8Array, { contentType }: Probed): Promise<Uint8Array> {
  if (contentType === 'audio/wav') return withTrueWave(bytes);
  return contentType === 'audio/mp4' ? await asMatroska(bytes) : bytes;
}

async function* piecesOf(bytes: Uint8Array, probed: Probed): AsyncGenerator<Decoded> {
  if (probed.codec === 'aac') {
    yield* decodeAacPackets(bytes);
    return;
  }
  if (probed.codec === 'alac') {
    yield* decodeAlacPackets(bytes);
    return;
  }
  const decoder = await openDecoder(probed);
  if (decoder === null)
    throw new UnreadableAudioError(`no decoder for ${probed.codec ?? probed.contentType}`);
  const given = await plain(bytes, probed);
  const size = probed.contentType === 'audio/wav' ? WAVE_PIECE_BYTES : PIECE_BYTES;
  let heard = false;
  try {
    for (let at = 0; at < given.length; at += size) {
      // A copy: decoders read words, and a piece of a larger buffer may lie across their boundaries.
      const { channelData, sampleRate } = await decoder.decode(new Uint8Array(given.subarray(at, at + size)));
      heard ||= channelData.length > 0;
      yield { channels: channelData, sampleRate };
    }
    if (decoder.flush !== undefined) {
      const { channelData, sampleRate } = await decoder.flush();
      yield { channels: channelData, sampleRate };
    }
  } catch (error) {
    // A file that breaks off has what came before.
    if (!heard) throw new UnreadableAudioError(error instanceof Error ? error.message : 'broken');
  } finally {
    decoder.free();
  }
}

/** Channels as one. */
export function mixed({ channels }: Decoded): Float32Array {
  const [first, ...others] = channels;
  if (first === undefined || others.length === 0) return first ?? new Float32Array(0);
  const out = Float32Array.from(first);
  for (const channel of others)
    for (let at = 0; at < out.length; at++) out[at] = (out[at] ?? 0) + (channel[at] ?? 0);
  for (let at = 0; at < out.length; at++) out[at] = (out[at] ?? 0) / channels.length;
  return out;
}

/** The whole, mixed to mono; for short files only. */
export async function decodeMono(
  bytes: Uint8Array,
  probed: Probed,
  maxSeconds: number,
): Promise<{ pcm: Float32Array; sampleRate: number }> {
  const parts: Float32Array[] = [];
  let sampleRate = probed.sampleRate;
  for await (const piece of decodeAudio(bytes, probed, maxSeconds)) {
    sampleRate = piece.sampleRate;
    parts.push(Float32Array.from(mixed(piece)));
  }
  const pcm = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    pcm.set(part, at);
    at += part.length;
  }
  return { pcm: pcm.subarray(0, Math.floor(maxSeconds * sampleRate)), sampleRate };
}
