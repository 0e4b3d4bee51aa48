import { registerAacEncoder } from '@mediabunny/aac-encoder';
import {
  ALL_FORMATS,
  AudioSample,
  AudioSampleSource,
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  Input,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny';

/** Reads a stored file by its signed URL, whatever public address the server is configured with. */
export async function downloadFrom(
  origin: string,
  url: string,
): Promise<{ bytes: Buffer; type: string | null }> {
  const { pathname, search } = new URL(url);
  const answer = await fetch(`${origin}${pathname}${search}`);
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
  return { bytes: Buffer.from(await answer.arrayBuffer()), type: answer.headers.get('content-type') };
}

/** The samples of a 16 bit mono WAV of the sandbox. */
export function samplesOf(wave: Buffer): Int16Array {
  const at = wave.indexOf('data') + 8;
  const bytes = wave.subarray(at, at + wave.readUInt32LE(at - 4));
  return Int16Array.from({ length: bytes.length >> 1 }, (_, index) => bytes.readInt16LE(2 * index));
}

/** A plain WAV without any comment. */
export function waveOf(samples: Int16Array, sampleRate = 16_000): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length * 2, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length * 2, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

/** M4A (AAC in MP4) of 16 kHz samples; with PCM, a QuickTime file like those of cameras. */
export async function m4aOf(samples: Int16Array, codec: 'aac' | 'pcm-s16' = 'aac'): Promise<Buffer> {
  registerAacEncoder();
  const sampleRate = 16_000;
  const target = new BufferTarget();
  const format = codec === 'aac' ? new Mp4OutputFormat({ fastStart: false }) : new MovOutputFormat();
  const output = new Output({ format, target });
  const source = new AudioSampleSource({ codec, bitrate: 64_000 });
  output.addAudioTrack(source);
  await output.start();
  const data = Float32Array.from(samples, (sample) => sample / 32_768);
  const sample = new AudioSample({
    data,
    format: 'f32-planar',
    numberOfChannels: 1,
    sampleRate,
    timestamp: 0,
  });
  await source.add(sample);
  sample.close();
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

/** An M4A whose edit list skips a number of samples, as encoders do for the padding before the sound. */
export function shownFrom(m4a: Buffer, samples: number): Buffer {
  const edit = Buffer.alloc(36);
  edit.writeUInt32BE(36, 0);
  edit.write('edts', 4, 'latin1');
  edit.writeUInt32BE(28, 8);
  edit.write('elst', 12, 'latin1');
  edit.writeUInt32BE(1, 20);
  edit.writeUInt32BE(samples, 28);
  edit.writeUInt16BE(1, 32);
  const startOf = (box: string) => m4a.indexOf(box, 0, 'latin1') - 4;
  const at = startOf('mdia');
  const edited = Buffer.concat([m4a.subarray(0, at), edit, m4a.subarray(at)]);
  for (const box of ['moov', 'trak']) {
    const start = startOf(box);
    edited.writeUInt32BE(m4a.readUInt32BE(start) + edit.length, start);
  }
  return edited;
}

/** The Opus packets of an Ogg file in WebM, repeated a number of times. */
export async function webmOf(ogg: Buffer, times = 1): Promise<Buffer> {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(ogg) });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw new Error('no audio');
  const target = new BufferTarget();
  const output = new Output({ format: new WebMOutputFormat(), target });
  const source = new EncodedAudioPacketSource('opus');
  output.addAudioTrack(source);
  await output.start();
  const decoderConfig = (await track.getDecoderConfig()) ?? undefined;
  const packets = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
  const last = packets.at(-1);
  const seconds = last === undefined ? 0 : last.timestamp + last.duration;
  for (let n = 0; n < times; n++)
    for (const packet of packets)
      await source.add(
        n === 0 ? packet : packet.clone({ timestamp: packet.timestamp + n * seconds }),
        decoderConfig ? { decoderConfig } : undefined,
      );
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

function crc(bytes: Uint8Array, { bits, polynomial }: { bits: 8 | 16; polynomial: number }): number {
  let value = 0;
  const top = 2 ** (bits - 1);
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++)
      value = (value & top ? (value << 1) ^ polynomial : value << 1) & (2 * top - 1);
  }
  return value;
}

/** FLAC of 16 kHz mono samples, without compression (verbatim subframes), up to the length that one byte of frame numbers allows. */
export function flacOf(samples: Int16Array): Buffer {
  const block = 4096;
  const info = Buffer.alloc(34);
  info.writeUInt16BE(block, 0);
  info.writeUInt16BE(block, 2);
  // 20 bits of rate, 3 of channels − 1, 5 of bits − 1, 36 of samples.
  info.writeUInt32BE(((16_000 << 12) | (0 << 9) | (15 << 4)) >>> 0, 10);
  info.writeUInt32BE(samples.length, 14);
  const parts: Buffer[] = [Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), info];
  for (let at = 0, frame = 0; at < samples.length; at += block, frame++) {
    const some = samples.subarray(at, at + block);
    const head = Buffer.alloc(7);
    head.writeUInt16BE(0xfff8, 0);
    // Block size in 16 bits at the end of the head, rate 16 kHz; mono, 16 bits.
    head.writeUInt8(0x75, 2);
    head.writeUInt8(0x08, 3);
    head.writeUInt8(frame & 0x7f, 4);
    head.writeUInt16BE(some.length - 1, 5);
    const body = Buffer.alloc(1 + some.length * 2);
    body.writeUInt8(0x02, 0);
    some.forEach((sample, index) => body.writeInt16BE(sample, 1 + 2 * index));
    const data = Buffer.concat([head, Buffer.from([crc(head, { bits: 8, polynomial: 0x07 })]), body]);
    const end = Buffer.alloc(2);
    end.writeUInt16BE(crc(data, { bits: 16, polynomial: 0x8005 }));
    parts.push(data, end);
  }
  return Buffer.concat(parts);
}

/** A frame number as FLAC writes it (UTF-8 of up to 21 bits). */
function frameNumber(value: number): number[] {
  return [...Buffer.from(String.fromCodePoint(value), 'utf8')];
}

/** FLAC of silence: 15 bytes for each 65,535 samples, so that a small file contains hours of sound. Its header does not contain the length. */
export function silentFlacOf(frames: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(65_535, 0);
  info.writeUInt16BE(65_535, 2);
  info.writeUInt32BE(((16_000 << 12) | (15 << 4)) >>> 0, 10);
  const parts: Buffer[] = [Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), info];
  for (let frame = 0; frame < frames; frame++) {
    const head = Buffer.from([0xff, 0xf8, 0x75, 0x08, ...frameNumber(frame), 0xff, 0xfe]);
    const data = Buffer.concat([head, Buffer.from([crc(head, { bits: 8, polynomial: 0x07 }), 0, 0, 0])]);
    const end = Buffer.alloc(2);
    end.writeUInt16BE(crc(data, { bits: 16, polynomial: 0x8005 }));
    parts.push(data, end);
  }
  return Buffer.concat(parts);
}
