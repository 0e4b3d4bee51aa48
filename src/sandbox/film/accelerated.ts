import { setTimeout as sleep } from 'node:timers/promises';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import type * as Codecs from 'node-webcodecs';
import type { EncoderOptions, FrameEncoder } from './encoder.types.js';

/** Frames that the encoder may hold: it keeps what it is given in memory, whatever its queue says. */
const MAX_PENDING = 4;
const KEY_FRAME_SECONDS = 2;
const BITS_PER_PIXEL = 0.06;
const STALL_MS = 60_000;

function configOf({ width, height, fps }: EncoderOptions): Parameters<Codecs.VideoEncoder['configure']>[0] {
  const large = width * height > 1920 * 1088;
  return {
    codec: large ? 'avc1.640034' : 'avc1.64002a',
    width,
    height,
    // More frames a second differ less from each other.
    bitrate: Math.round(width * height * BITS_PER_PIXEL * (fps > 30 ? 45 : 30)),
    framerate: fps,
    hardwareAcceleration: 'prefer-software',
    avc: { format: 'avc' },
    colorSpace: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false },
  };
}

class AcceleratedEncoder implements FrameEncoder {
  private added = 0;
  private encoded = 0;
  private fault: Error | null = null;
  private written = Promise.resolve();
  private readonly target = new BufferTarget();
  private readonly output = new Output({
    format: new Mp4OutputFormat({ fastStart: 'in-memory' }),
    target: this.target,
  });
  private readonly packets = new EncodedVideoPacketSource('avc');
  private readonly encoder: Codecs.VideoEncoder;

  constructor(
    private readonly codecs: typeof Codecs,
    private readonly options: EncoderOptions,
  ) {
    this.encoder = new codecs.VideoEncoder({
      output: (chunk, meta) => this.write(chunk, meta),
      error: (error) => void (this.fault ??= error),
    });
  }

  async start(): Promise<void> {
    this.output.addVideoTrack(this.packets, { frameRate: this.options.fps });
    await this.output.start();
    this.encoder.configure(configOf(this.options));
  }

  async add(pixels: Uint8Array): Promise<void> {
    const { width, height, fps } = this.options;
    const index = this.added++;
    const timestamp = Math.round((index * 1_000_000) / fps);
    const frame = new this.codecs.VideoFrame(pixels, {
      format: 'I420',
      codedWidth: width,
      codedHeight: height,
      timestamp,
      duration: Math.round(1_000_000 / fps),
    });
    this.encoder.encode(frame, { keyFrame: index % (fps * KEY_FRAME_SECONDS) === 0 });
    frame.close();
    await this.pendingAtMost(MAX_PENDING);
  }

  async finish(): Promise<Uint8Array> {
    await this.encoder.flush();
    // The last frames may come after the flush says that they have come.
    await this.pendingAtMost(0);
    await this.written;
    if (this.fault !== null) throw this.fault;
    await this.output.finalize();
    this.encoder.close();
    return new Uint8Array(this.target.buffer ?? new ArrayBuffer(0));
  }

  private async pendingAtMost(count: number): Promise<void> {
    const start = performance.now();
    while (this.added - this.encoded > count && this.fault === null) {
      if (performance.now() - start > STALL_MS) throw new Error('The encoder stands still');
      await sleep(1);
    }
    if (this.fault !== null) throw this.fault;
  }

  private write(chunk: Codecs.EncodedVideoChunk, meta: unknown): void {
    const { fps } = this.options;
    const bytes = new Uint8Array(chunk.byteLength);
    chunk.copyTo(bytes);
    // Frames come out in the order in which they went in: this profile has none that refer to later ones.
    const packet = new EncodedPacket(bytes, chunk.type, this.encoded++ / fps, 1 / fps);
    this.written = this.written
      .then(() => this.packets.add(packet, meta as Parameters<EncodedVideoPacketSource['add']>[1]))
      .catch((error: unknown) => {
        this.fault ??= error instanceof Error ? error : new Error(String(error));
      });
  }
}

/** Several times faster, by the optional codec package. */
export async function createAcceleratedEncoder(
  codecs: typeof Codecs,
  options: EncoderOptions,
): Promise<FrameEncoder> {
  const encoder = new AcceleratedEncoder(codecs, options);
  await encoder.start();
  return encoder;
}
