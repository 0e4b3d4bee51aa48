import { UnreadableAudioError } from '../audio/index.js';
import type { Audio, AudioFacts } from '../audio/index.js';
import { invalid } from '../errors.js';
import { fileReference } from '../files/index.js';
import type { FetchedInput, FileService, InputFetcher } from '../files/files.types.js';
import type { CallContext } from '../metering/call-context.js';

/** Audio that callers give (decisions.md 6, "Generations"). */
export const MAX_AUDIO_MB = 25;

export interface InputAudioOptions {
  inputs: Pick<InputFetcher, 'fetch'>;
  files: Pick<FileService, 'save' | 'read'>;
  audio: Pick<Audio, 'probe'>;
}

export interface StoredAudio {
  reference: { $file: string };
  fileId: string;
  facts: AudioFacts;
}

interface Wanted {
  /** A URL, a data: URL or base64; or the bytes of an upload. */
  value: string | Uint8Array;
  field: string;
  jobId: string;
  /** Types that are taken; the others are refused by this list. */
  contentTypes: ReadonlyMap<string, string>;
  maxSeconds: number;
}

async function bytesOf(
  { inputs }: InputAudioOptions,
  call: CallContext,
  { value, field }: Wanted,
): Promise<Pick<FetchedInput, 'bytes'>> {
  if (typeof value !== 'string')
    return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
  const { orgId } = call.principal;
  return await inputs.fetch({ orgId, value, field, maxMb: MAX_AUDIO_MB, signal: call.signal });
}

/**
 * Fetches a caller's audio, finds what it is from its content, and stores it for the job.
 * @throws ApiError invalid_request for what is no audio of the accepted formats, or too long; payload_too_large
 */
export async function storeInputAudio(
  options: InputAudioOptions,
  call: CallContext,
  wanted: Wanted,
): Promise<StoredAudio> {
  const { field, contentTypes, maxSeconds, jobId } = wanted;
  const { bytes } = await bytesOf(options, call, wanted);
  const names = [...contentTypes.values()].join(', ');
  const facts = await probed(options, bytes, { field, names, signal: call.signal });
  if (!contentTypes.has(facts.contentType)) throw invalid(`${field} must be audio: ${names}`, field);
  if (facts.durationSeconds > maxSeconds)
    throw invalid(`${field} exceeds the maximum duration of ${maxSeconds} seconds`, field);
  const file = await options.files.save({
    orgId: call.principal.orgId,
    bytes,
    contentType: facts.contentType === 'audio/webm' ? 'video/webm' : facts.contentType,
    durationSeconds: facts.durationSeconds,
    jobId,
  });
  return { reference: fileReference(file), fileId: file.id, facts };
}

async function probed(
  { audio }: InputAudioOptions,
  bytes: Buffer,
  { field, names, signal }: { field: string; names: string; signal: AbortSignal },
): Promise<AudioFacts> {
  try {
    return await audio.probe(bytes, { signal });
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw invalid(`${field} must be audio: ${names}`, field);
    throw error;
  }
}

/** The bytes of a file that a job's inputParams refer to. */
export async function readInputAudio(
  files: Pick<FileService, 'read'>,
  orgId: string,
  reference: { $file: string },
): Promise<Buffer> {
  const [id = ''] = reference.$file.split('.');
  return await files.read(orgId, id);
}
