import {
  ALL_FORMATS,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  Input,
  MkvOutputFormat,
  Output,
} from 'mediabunny';
import { watchedSource } from '../../media/watched-source.js';
import { UnreadableAudioError } from '../audio.types.js';

/** Codecs of MP4 and QuickTime files that are decoded out of Matroska, which the same packets are put into. */
export const MOVED_CODECS: ReadonlySet<string> = new Set([
  'mp3',
  'opus',
  'vorbis',
  'flac',
  'pcm-s16',
  'pcm-s16be',
  'pcm-s24',
  'pcm-s24be',
  'pcm-s32',
  'pcm-s32be',
  'pcm-f32',
  'pcm-f64',
  'pcm-u8',
]);

/** Seconds between packets, in a copy that only a decoder reads. */
const STEP = 0.001;

/** The sound of a file in another container, its packets as they are. @throws UnreadableAudioError */
export async function asMatroska(bytes: Uint8Array): Promise<Uint8Array> {
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(bytes) });
  try {
    const track = await input.getPrimaryAudioTrack();
    if (!track?.codec) throw new UnreadableAudioError('no audio of a known codec');
    const target = new BufferTarget();
    const output = new Output({ format: new MkvOutputFormat(), target });
    const source = new EncodedAudioPacketSource(track.codec);
    output.addAudioTrack(source);
    await output.start();
    const decoderConfig = (await track.getDecoderConfig()) ?? undefined;
    let timestamp = 0;
    for await (const packet of new EncodedPacketSink(track).packets()) {
      // Times of its own: those of the file may be any, and decoders do not ask.
      await source.add(packet.clone({ timestamp, duration: STEP }), decoderConfig && { decoderConfig });
      timestamp += STEP;
    }
    await output.finalize();
    return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'unreadable');
  } finally {
    input.dispose();
  }
}
