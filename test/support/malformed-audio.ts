import {
  ALL_FORMATS,
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  Input,
  MkvOutputFormat,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny';

/** A chunk of RIFF with a size that may be anything. */
export function riffChunk(id: string, body: Buffer, size = body.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(id, 0, 'latin1');
  head.writeUInt32LE(size >>> 0, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
}

interface WaveParts {
  form?: string;
  riffSize?: number;
  /** Values that replace the format's fields, by their offsets in its chunk. */
  format?: [offset: number, value: number][];
  before?: Buffer[];
  /** Chunks between the format and the sound. */
  between?: Buffer[];
  dataSize?: number;
  after?: Buffer[];
}

/** 16 bit mono sound at 16 kHz with a header that claims anything. */
export function lyingWave(samples: Int16Array, parts: WaveParts): Buffer {
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(16_000, 4);
  format.writeUInt32LE(32_000, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  for (const [offset, value] of parts.format ?? []) format.writeUInt16LE(value, offset);
  const pcm = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const body = Buffer.concat([
    ...(parts.before ?? []),
    riffChunk('fmt ', format),
    ...(parts.between ?? []),
    riffChunk('data', pcm, parts.dataSize ?? pcm.length),
    ...(parts.after ?? []),
  ]);
  const head = Buffer.alloc(12);
  head.write(parts.form ?? 'RIFF', 0, 'latin1');
  head.writeUInt32LE((parts.riffSize ?? body.length + 4) >>> 0, 4);
  head.write('WAVE', 8, 'latin1');
  return Buffer.concat([head, body]);
}

const CONTAINERS = {
  mp4: () => new Mp4OutputFormat({ fastStart: false }),
  webm: () => new WebMOutputFormat(),
  mkv: () => new MkvOutputFormat(),
};

/** The same packets in another container, one millisecond apart, whatever their duration. */
export async function hurried(file: Buffer, container: keyof typeof CONTAINERS): Promise<Buffer> {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(file) });
  const track = await input.getPrimaryAudioTrack();
  if (!track?.codec) throw new Error('no audio');
  const target = new BufferTarget();
  const output = new Output({ format: CONTAINERS[container](), target });
  const source = new EncodedAudioPacketSource(track.codec);
  output.addAudioTrack(source);
  await output.start();
  const decoderConfig = (await track.getDecoderConfig()) ?? undefined;
  let at = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const moved = packet.clone({ timestamp: at++ / 1000, duration: 0.001 });
    await source.add(moved, decoderConfig ? { decoderConfig } : undefined);
  }
  await output.finalize();
  return Buffer.from(target.buffer ?? new ArrayBuffer(0));
}

const OGG_CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value < 0 ? 0x04c11db7 : 0);
  return value >>> 0;
});

/** An Ogg file whose pages all claim to end at the same position; or only its last ones. */
export function oggEndingAt(file: Buffer, granule: bigint, last = Infinity): Buffer {
  const out = Buffer.from(file);
  const first = Math.max(2, file.toString('latin1').split('OggS').length - 1 - last);
  for (let at = 0, page = 0; at + 27 <= out.length; page++) {
    const segments = out[at + 26] ?? 0;
    const body = out.subarray(at + 27, at + 27 + segments).reduce((sum, size) => sum + size, 0);
    const end = at + 27 + segments + body;
    if (page >= first) out.writeBigInt64LE(granule, at + 6);
    out.writeUInt32LE(0, at + 22);
    let crc = 0;
    for (const byte of out.subarray(at, end)) crc = ((crc << 8) ^ (OGG_CRC[(crc >>> 24) ^ byte] ?? 0)) >>> 0;
    out.writeUInt32LE(crc, at + 22);
    at = end;
  }
  return out;
}

const MP3_RATES = { 16_000: 0b10, 44_100: 0b00 };

/** An MP3 after a tag (`ID3`) and a first frame that counts the frames (`Xing`). */
export function mp3Claiming(
  file: Buffer,
  { frames, tag = 0, rate }: { frames: number; tag?: number; rate: keyof typeof MP3_RATES },
): Buffer {
  const isSecond = rate < 32_000;
  // Layer III, 64 kbit/s, mono.
  const frame = Buffer.alloc(Math.floor(((isSecond ? 72 : 144) * 64_000) / rate));
  Buffer.from([0xff, isSecond ? 0xf3 : 0xfb, ((isSecond ? 8 : 5) << 4) | (MP3_RATES[rate] << 2), 0xc0]).copy(
    frame,
  );
  const at = 4 + (isSecond ? 9 : 17);
  frame.write('Xing', at, 'latin1');
  frame.writeUInt32BE(1, at + 4);
  frame.writeUInt32BE(frames, at + 8);
  const id3 = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, (tag >> 7) & 127, tag & 127]);
  return Buffer.concat([tag > 0 ? id3 : Buffer.alloc(0), Buffer.alloc(tag), frame, file]);
}

/** A file with another 32-bit number after the first occurrence of a word. */
export function patched(
  file: Buffer,
  word: string,
  [offset, value]: [offset: number, value: number],
): Buffer {
  const out = Buffer.from(file);
  const at = out.indexOf(word, 0, 'latin1');
  if (at < 0) throw new Error(`no ${word}`);
  out.writeUInt32BE(value >>> 0, at + offset);
  return out;
}

/** An ADTS file with other bytes behind its twentieth frame. */
export function adtsWith(file: Buffer, gap: Buffer): Buffer {
  let at = file.indexOf(Buffer.from([0xff, 0xf1]));
  for (let frame = 0; frame < 20; frame++) at += (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
  return Buffer.concat([file.subarray(0, at), gap, file.subarray(at)]);
}
