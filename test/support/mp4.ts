import { BufferSource, Input, MP4, VideoSampleSink } from 'mediabunny';
import type { VideoSample } from 'mediabunny';

/** The data of an MP4's video, read only from its boxes. */
export interface Mp4Facts {
  codec: string;
  width: number;
  height: number;
  frames: number;
  durationSeconds: number;
}

type Box = { type: string; body: Buffer };

function boxesOf(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const short = bytes.readUInt32BE(at);
    const head = short === 1 ? 16 : 8;
    const size =
      short === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    if (size < head || at + size > bytes.length) throw new Error('a box does not fit');
    boxes.push({
      type: bytes.toString('latin1', at + 4, at + 8),
      body: bytes.subarray(at + head, at + size),
    });
    at += size;
  }
  return boxes;
}

function find(bytes: Buffer, ...path: string[]): Buffer {
  return path.reduce((within, type) => {
    const box = boxesOf(within).find((candidate) => candidate.type === type);
    if (box === undefined) throw new Error(`no ${type} box`);
    return box.body;
  }, bytes);
}

export function readMp4(bytes: Buffer): Mp4Facts {
  const media = find(bytes, 'moov', 'trak', 'mdia');
  const header = find(media, 'mdhd');
  const long = header[0] === 1;
  const timescale = header.readUInt32BE(long ? 20 : 12);
  const duration = long ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const table = find(media, 'minf', 'stbl');
  const entry = find(table, 'stsd').subarray(8);
  return {
    codec: entry.toString('latin1', 4, 8),
    width: entry.readUInt16BE(8 + 24),
    height: entry.readUInt16BE(8 + 26),
    frames: find(table, 'stsz').readUInt32BE(8),
    durationSeconds: duration / timescale,
  };
}

/** A frame at a very low resolution. */
export interface FrameFacts {
  /** The mean of its red component (Cr); 128 is neutral. */
  red: number;
  /** Brightness at 16 × 16 positions. */
  luma: number[];
}

/** Decodes frames of a video, by their numbers, with the optional codec package. */
export async function framesOf(bytes: Buffer, numbers: readonly number[]): Promise<FrameFacts[]> {
  await import('node-webcodecs/register');
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  if (track === null) throw new Error('no video');
  const { averagePacketRate: rate } = await track.computePacketStats();
  const frames: FrameFacts[] = [];
  const times = numbers.map((number) => (number + 0.5) / rate);
  for await (const sample of new VideoSampleSink(track).samplesAtTimestamps(times)) {
    if (sample === null) throw new Error('no such frame');
    frames.push(await factsOf(sample));
    sample.close();
  }
  input.dispose();
  return frames;
}

async function factsOf(sample: VideoSample): Promise<FrameFacts> {
  const { width, height } = sample.visibleRect;
  const planes = Buffer.alloc(sample.allocationSize());
  await sample.copyTo(planes);
  const cr = planes.subarray((width * height * 5) / 4, (width * height * 3) / 2);
  const place = (index: number, size: number) => Math.floor(((index + 0.5) * size) / 16);
  return {
    red: cr.reduce((sum, value) => sum + value, 0) / cr.length,
    luma: Array.from(
      { length: 256 },
      (_, at) => planes[place(at >> 4, height) * width + place(at & 15, width)] ?? 0,
    ),
  };
}
