import { ALL_FORMATS, EncodedPacketSink, Input } from 'mediabunny';
import { watchedSource } from '../../media/watched-source.js';
import { UnreadableAudioError } from '../audio.types.js';
import type { AudioFacts } from '../audio.types.js';
import { withTrueSizes } from './true-file.js';

/** Containers by mediabunny's names, and how their content type is called here. */
const CONTENT_TYPES: Record<string, string> = {
  MP3: 'audio/mpeg',
  WAVE: 'audio/wav',
  MP4: 'audio/mp4',
  'QuickTime File Format': 'audio/mp4',
  FLAC: 'audio/flac',
  Ogg: 'audio/ogg',
  WebM: 'audio/webm',
  Matroska: 'audio/webm',
  ADTS: 'audio/aac',
};

/** More than any recording has; decoders work for each of them. */
const MAX_CHANNELS = 32;

export interface Probed extends Omit<AudioFacts, 'readable' | 'durationSeconds'> {
  /** As mediabunny names it, or `alac`, which it does not know; null for others. */
  codec: string | null;
  /** By the times that its container tells, which may be anything: nobody is charged by them where it can be decoded (measure.ts). */
  claimedSeconds: number;
}

/**
 * What a file is, from its container. Nothing is decoded.
 * @throws UnreadableAudioError
 */
export async function probe(bytes: Uint8Array): Promise<Probed> {
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(withTrueSizes(bytes)) });
  try {
    const format = await input.getFormat();
    const contentType = CONTENT_TYPES[format.name];
    const track = await input.getPrimaryAudioTrack();
    if (contentType === undefined || track === null)
      throw new UnreadableAudioError('no audio of a known format');
    // Looked for by itself: without one, mediabunny 1.61 never ends to compute the duration of FLAC.
    const first = await new EncodedPacketSink(track).getFirstPacket({ metadataOnly: true });
    if (first === null) throw new UnreadableAudioError('audio without packets');
    const claimedSeconds = (await track.computeDuration()) - Math.max(0, first.timestamp);
    const { sampleRate, numberOfChannels: channels } = track;
    const codec = track.codec ?? (track.internalCodecId === 'alac' ? 'alac' : null);
    if (!(sampleRate > 0) || !(channels > 0) || channels > MAX_CHANNELS)
      throw new UnreadableAudioError('audio without samples');
    return { contentType, claimedSeconds, sampleRate, channels, codec };
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'unreadable');
  } finally {
    input.dispose();
  }
}
