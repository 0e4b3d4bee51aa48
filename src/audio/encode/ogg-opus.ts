import { Encoder } from '@evan/opus';
import { toInt16 } from './wav.js';

const FRAME_SECONDS = 0.02;
const PACKETS_PER_PAGE = 50;
/** Samples at 48 kHz that the encoder looks ahead, which players skip. */
const PRE_SKIP = 312;
const GRANULES_PER_FRAME = 960;

/** Rates that Opus takes as they are. */
export const OPUS_RATES = [8000, 12_000, 16_000, 24_000, 48_000] as const;

/** Mono Opus in Ogg, exactly as long as the samples; the comment is a Vorbis comment. */
export function encodeOggOpus(
  pcm: Float32Array,
  sampleRate: (typeof OPUS_RATES)[number],
  comment: string | null,
): Buffer {
  const encoder = new Encoder({ channels: 1, sample_rate: sampleRate, application: 'audio' });
  encoder.bitrate = 40_000;
  const frame = Math.round(sampleRate * FRAME_SECONDS);
  const length = Math.round((pcm.length / sampleRate) * 48_000);
  const packets: Buffer[] = [];
  for (let at = 0; packets.length * GRANULES_PER_FRAME < length + PRE_SKIP; at += frame) {
    const samples = new Int16Array(frame);
    for (let index = 0; index < frame; index++) samples[index] = toInt16(pcm[at + index] ?? 0);
    packets.push(Buffer.from(encoder.encode(samples)));
  }
  const writer = new OggWriter();
  writer.page([opusHead(sampleRate)], 0n, 2);
  writer.page([opusTags(comment)], 0n, 0);
  for (let at = 0; at < packets.length; at += PACKETS_PER_PAGE) {
    const some = packets.slice(at, at + PACKETS_PER_PAGE);
    const end = at + some.length;
    const isLast = end >= packets.length;
    writer.page(some, BigInt(isLast ? length + PRE_SKIP : end * GRANULES_PER_FRAME), isLast ? 4 : 0);
  }
  return Buffer.concat(writer.pages);
}

function opusHead(sampleRate: number): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 0, 'latin1');
  head.writeUInt8(1, 8);
  head.writeUInt8(1, 9);
  head.writeUInt16LE(PRE_SKIP, 10);
  head.writeUInt32LE(sampleRate, 12);
  return head;
}

function opusTags(comment: string | null): Buffer {
  const entries = comment === null ? [] : [`COMMENT=${comment}`];
  const counted = (text: string): Buffer => {
    const bytes = Buffer.from(text, 'utf8');
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    return Buffer.concat([size, bytes]);
  };
  const count = Buffer.alloc(4);
  count.writeUInt32LE(entries.length);
  return Buffer.concat([
    Buffer.from('OpusTags', 'latin1'),
    counted('penstock'),
    count,
    ...entries.map(counted),
  ]);
}

/** Pages of one logical stream (RFC 3533). */
class OggWriter {
  readonly pages: Buffer[] = [];
  private sequence = 0;

  /** Packets that end on this page; one that is longer than a page goes on over further ones. */
  page(packets: readonly Buffer[], granule: bigint, flags: number): void {
    const body = Buffer.concat([...packets]);
    const lacing = packets.flatMap((packet) => [
      ...Array.from({ length: Math.floor(packet.length / 255) }, () => 255),
      packet.length % 255,
    ]);
    let offset = 0;
    for (let at = 0; at < lacing.length; at += 255) {
      const table = lacing.slice(at, at + 255);
      const size = table.reduce((sum, value) => sum + value, 0);
      const isLast = at + 255 >= lacing.length;
      const continued = at > 0 && lacing[at - 1] === 255 ? 1 : 0;
      this.write(table, body.subarray(offset, offset + size), {
        granule: isLast ? granule : -1n,
        flags: continued | (at === 0 ? flags & 2 : 0) | (isLast ? flags & 4 : 0),
      });
      offset += size;
    }
  }

  private write(table: number[], body: Buffer, { granule, flags }: { granule: bigint; flags: number }): void {
    const head = Buffer.alloc(27 + table.length);
    head.write('OggS', 0, 'latin1');
    head.writeUInt8(flags, 5);
    head.writeBigInt64LE(granule, 6);
    head.writeUInt32LE(0x70656e73, 14);
    head.writeUInt32LE(this.sequence++, 18);
    head.writeUInt8(table.length, 26);
    Buffer.from(table).copy(head, 27);
    const page = Buffer.concat([head, body]);
    page.writeUInt32LE(checksum(page), 22);
    this.pages.push(page);
  }
}

const CRC = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value >>> 0;
});

function checksum(page: Buffer): number {
  let value = 0;
  for (const byte of page) value = ((value << 8) ^ (CRC[((value >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  return value;
}
