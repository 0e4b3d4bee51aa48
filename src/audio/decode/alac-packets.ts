import { ALL_FORMATS, EncodedPacketSink, Input } from 'mediabunny';
import { watchedSource } from '../../media/watched-source.js';
import { UnreadableAudioError } from '../audio.types.js';
import type { Decoded } from '../audio.types.js';
import { decodeAlacFrame } from './alac-frame.js';
import type { AlacConfig } from './alac-frame.js';

/** How the box begins that tells of the sound: its length, its name, its version. */
const BOX = Buffer.from('00000024616c616300000000', 'hex');
/** Four times what encoders make. */
const MAX_FRAME = 16_384;

function configOf(bytes: Uint8Array): AlacConfig {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = file.indexOf(BOX) + BOX.length;
  if (at < BOX.length || file.length < at + 24) throw new UnreadableAudioError('ALAC without its settings');
  const config = {
    frameLength: file.readUInt32BE(at),
    bitDepth: file.readUInt8(at + 5),
    rate: file.readUInt8(at + 6),
    mean: file.readUInt8(at + 7),
    longest: file.readUInt8(at + 8),
    sampleRate: file.readUInt32BE(at + 20),
  };
  const { frameLength, bitDepth, longest, sampleRate } = config;
  const isKnown = [16, 20, 24, 32].includes(bitDepth) && frameLength > 0 && frameLength <= MAX_FRAME;
  if (!isKnown || longest < 1 || longest > 31 || sampleRate === 0)
    throw new UnreadableAudioError('ALAC of another form');
  return config;
}

/**
 * Apple Lossless of an MP4 or QuickTime file, packet by packet.
 * @throws UnreadableAudioError for other forms and broken packets at the start
 */
export async function* decodeAlacPackets(bytes: Uint8Array): AsyncGenerator<Decoded> {
  const config = configOf(bytes);
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(bytes) });
  try {
    const track = await input.getPrimaryAudioTrack();
    if (track === null) throw new UnreadableAudioError('no audio');
    let heard = false;
    for await (const { data } of new EncodedPacketSink(track).packets()) {
      const channels = decoded(data, config);
      heard ||= channels !== null;
      if (!heard) throw new UnreadableAudioError('broken ALAC');
      // One broken packet is a gap in the sound, no reason to give up the rest.
      yield { channels: channels ?? [new Float32Array(config.frameLength)], sampleRate: config.sampleRate };
    }
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'broken ALAC');
  } finally {
    input.dispose();
  }
}

function decoded(packet: Uint8Array, config: AlacConfig): Float32Array[] | null {
  try {
    return decodeAlacFrame(packet, config);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
