import type { Audio, AudioFormat } from '../../audio/index.js';
import { fileReference } from '../../files/index.js';
import type { FileService } from '../../files/files.types.js';
import type { JobContext } from '../../jobs/jobs.types.js';
import { decodeUpstreamMedia } from './upstreams.js';

/** The content type of each format. */
export const SOUND_TYPES: Record<AudioFormat, string> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  pcm: 'audio/pcm',
};

/** Speech or music as a provider made it. */
export interface SoundMade {
  bytes: Uint8Array;
  /** Set by the engine, which knows the duration without the encoder's padding. */
  durationSeconds: number | null;
}

export interface SoundInFormat {
  bytes: Uint8Array;
  durationSeconds: number;
}

export interface StoredSound {
  fileId: string;
  reference: { $file: string };
  /** In seconds, rounded to milliseconds. */
  seconds: number;
}

/**
 * Checks an upstream's audio, and converts it to the requested format.
 * @throws UpstreamError if it cannot be decoded; then the fallbacks are tried
 */
export async function inFormat(
  audio: Audio,
  { bytes: given, durationSeconds }: SoundMade,
  { format, signal }: { format: AudioFormat; signal: AbortSignal },
): Promise<SoundInFormat> {
  return await decodeUpstreamMedia('audio', async () => {
    const { bytes, ...facts } = await audio.probe(given, { signal });
    if (facts.contentType === SOUND_TYPES[format])
      return { bytes, durationSeconds: durationSeconds ?? facts.durationSeconds };
    return await audio.convert(bytes, format, { signal });
  });
}

/** Stores a job's audio in the requested format. */
export async function storeSound(
  files: FileService,
  { job, signal, progress }: JobContext,
  { made, format, share }: { made: SoundInFormat; format: AudioFormat; share: number },
): Promise<StoredSound> {
  const { bytes, durationSeconds } = made;
  progress(share);
  const seconds = Math.round(durationSeconds * 1000) / 1000;
  signal.throwIfAborted();
  const file = await files.save({
    orgId: job.orgId,
    bytes,
    contentType: SOUND_TYPES[format],
    ...(format === 'opus' ? { extension: 'opus' } : {}),
    durationSeconds: seconds,
    jobId: job.id,
  });
  return { fileId: file.id, reference: fileReference(file), seconds };
}
