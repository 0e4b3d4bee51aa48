import { registerAacEncoder } from '@mediabunny/aac-encoder';
import { AdtsOutputFormat, AudioSample, AudioSampleSource, BufferTarget, Output } from 'mediabunny';

let registered = false;
const HEADER = 7;

/** Mono AAC-LC as ADTS frames. The mark's parts stand in data elements of the first frames, which decoders skip. */
export async function encodeAac(
  pcm: Float32Array,
  sampleRate: number,
  mark: readonly string[],
): Promise<Buffer> {
  if (!registered) registerAacEncoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new AdtsOutputFormat(), target });
  const source = new AudioSampleSource({ codec: 'aac', bitrate: 64_000 });
  output.addAudioTrack(source);
  await output.start();
  for (let at = 0; at < pcm.length; at += sampleRate) {
    const data = pcm.slice(at, at + sampleRate);
    const sample = new AudioSample({
      data,
      format: 'f32-planar',
      numberOfChannels: 1,
      sampleRate,
      timestamp: at / sampleRate,
    });
    await source.add(sample);
    sample.close();
  }
  await output.finalize();
  if (target.buffer === null) throw new Error('The AAC encoder wrote nothing');
  return withData(Buffer.from(target.buffer), mark);
}

/** Puts a data stream element (ISO 14496-3, 4.4.2.7) in front of each of the first frames' elements. */
function withData(adts: Buffer, parts: readonly string[]): Buffer {
  const out: Buffer[] = [];
  let offset = 0;
  for (const part of parts) {
    if (offset + HEADER > adts.length) break;
    const length = frameLength(adts, offset);
    const element = dataElement(Buffer.from(part, 'latin1'));
    const header = Buffer.from(adts.subarray(offset, offset + HEADER));
    setFrameLength(header, length + element.length);
    out.push(header, element, adts.subarray(offset + HEADER, offset + length));
    offset += length;
  }
  return Buffer.concat([...out, adts.subarray(offset)]);
}

/** Most bytes that one element holds. */
export const DATA_ELEMENT_BYTES = 500;

/** Its head is 16 or 24 bits, so what follows stays on its byte boundary. */
function dataElement(data: Buffer): Buffer {
  const DSE = 4;
  const head = data.length < 255 ? [data.length] : [255, data.length - 255];
  return Buffer.concat([Buffer.from([(DSE << 5) | 1, ...head]), data]);
}

function frameLength(adts: Buffer, at: number): number {
  return (
    ((adts.readUInt8(at + 3) & 0x03) << 11) | (adts.readUInt8(at + 4) << 3) | (adts.readUInt8(at + 5) >> 5)
  );
}

function setFrameLength(header: Buffer, length: number): void {
  header[3] = ((header[3] ?? 0) & 0xfc) | (length >> 11);
  header[4] = (length >> 3) & 0xff;
  header[5] = ((header[5] ?? 0) & 0x1f) | ((length & 0x07) << 5);
}
