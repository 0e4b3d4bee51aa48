import { createMp3Encoder } from 'wasm-media-encoders';

type Mp3Encoder = Awaited<ReturnType<typeof createMp3Encoder>>;
type Mp3Rate = Parameters<Mp3Encoder['configure']>[0]['sampleRate'];

/** Samples that are handed over at once. */
const SLICE = 1 << 18;
let made: Promise<Mp3Encoder> | undefined;

/** Constant bit rate; the comment stands in an ID3 tag before the first frame. */
export async function encodeMp3(
  channels: readonly Float32Array[],
  sampleRate: number,
  { bitrate, comment }: { bitrate: 64 | 128 | 160 | 192; comment: string | null },
): Promise<Buffer> {
  const encoder = await (made ??= createMp3Encoder());
  encoder.configure({ sampleRate: sampleRate as Mp3Rate, channels: channels.length as 1 | 2, bitrate });
  const parts: Buffer[] = comment === null ? [] : [id3(comment)];
  const length = fittingLength(channels, sampleRate);
  for (let at = 0; at < length; at += SLICE) {
    const slice = channels.map((channel) => channel.subarray(at, Math.min(length, at + SLICE)));
    // The encoder's memory is used again: copy.
    parts.push(Buffer.from(encoder.encode(slice as [Float32Array, Float32Array])));
  }
  parts.push(Buffer.from(encoder.finalize()));
  return Buffer.concat(parts);
}

/** Samples of silence that the encoder puts in front. */
const ENCODER_DELAY = 1105;
const QUIET = 0.02;

/** As many samples as give the number of frames that is nearest to the sound's own length, where only silence is lost for it. */
function fittingLength(channels: readonly Float32Array[], sampleRate: number): number {
  const length = channels[0]?.length ?? 0;
  const frame = sampleRate >= 32_000 ? 1152 : 576;
  const fitting = Math.max(1, Math.round(length / frame)) * frame - ENCODER_DELAY - frame / 4;
  if (fitting <= 0 || fitting >= length) return length;
  const isQuiet = channels.every((channel) =>
    channel.subarray(fitting).every((sample) => Math.abs(sample) < QUIET),
  );
  return isQuiet ? fitting : length;
}

/** ID3v2.3 with one `COMM` frame. */
function id3(comment: string): Buffer {
  const text = Buffer.from(`\0eng\0${comment}`, 'latin1');
  const frame = Buffer.alloc(10);
  frame.write('COMM', 0, 'latin1');
  frame.writeUInt32BE(text.length, 4);
  const size = frame.length + text.length;
  const head = Buffer.from([0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 0, 0]);
  // Seven bits a byte, so that no byte looks like the beginning of a frame.
  for (let index = 0; index < 4; index++) head[9 - index] = (size >> (7 * index)) & 0x7f;
  return Buffer.concat([head, frame, text]);
}
