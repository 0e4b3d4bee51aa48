import { storageLimitOf } from '../access/index.js';
import { UnreadableAudioError } from '../audio/index.js';
import type { Audio, AudioFacts } from '../audio/index.js';
import { fileTooLarge, invalid } from '../errors.js';
import { fileReference } from '../files/index.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import type { CallContext } from '../metering/call-context.js';

/** Audio that callers give (decisions.md 6, "Generations"). */
export const MAX_AUDIO_MB = 25;
const MB = 1_048_576;
/** Formats of sound that are listened to (contract 4.7); bare AAC, which speech can be made in, is one too. */
export const SOUND_FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/mpeg', 'MP3'],
  ['audio/wav', 'WAV'],
  ['audio/mp4', 'M4A'],
  ['audio/flac', 'FLAC'],
  ['audio/ogg', 'OGG'],
  ['audio/webm', 'WebM'],
  ['audio/aac', 'AAC'],
]);

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
  /** The model for which it must be decoded here; undefined: its container is enough. */
  reader: string | undefined;
  jobId: string;
  /** Types that are taken; the others are refused by this list. */
  contentTypes: ReadonlyMap<string, string>;
  maxSeconds: number;
}

/**
 * Fetches a caller's audio and finds what it is from its content.
 * @throws ApiError invalid_request for what is no audio of the accepted formats, or too long; payload_too_large
 */
async function readAudio(
  options: Omit<InputAudioOptions, 'files'>,
  call: CallContext,
  wanted: Omit<Wanted, 'jobId'>,
): Promise<{ bytes: Buffer; facts: AudioFacts }> {
  const { field, reader, contentTypes, maxSeconds } = wanted;
  const bytes = await bytesOf(options, call, wanted);
  const names = [...contentTypes.values()].join(', ');
  const facts = await probed(options, bytes, { field, names, signal: call.signal });
  if (!contentTypes.has(facts.contentType)) throw invalid(`${field} must be audio: ${names}`, field);
  if (facts.durationSeconds > maxSeconds)
    throw invalid(`${field} exceeds the maximum duration of ${maxSeconds} seconds`, field);
  if (reader !== undefined && !facts.readable) throw invalid(`Model ${reader} cannot read this audio`, field);
  return { bytes, facts };
}

async function bytesOf(
  { inputs }: Pick<InputAudioOptions, 'inputs'>,
  call: CallContext,
  { value, field }: Pick<Wanted, 'value' | 'field'>,
): Promise<Buffer> {
  if (typeof value === 'string') {
    const { orgId } = call.principal;
    return (await inputs.fetch({ orgId, value, field, maxMb: MAX_AUDIO_MB, signal: call.signal })).bytes;
  }
  if (value.length > MAX_AUDIO_MB * MB) throw fileTooLarge(field, MAX_AUDIO_MB);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** What a caller's audio is, without storing it. */
export async function measureInputAudio(
  options: InputAudioOptions,
  call: CallContext,
  wanted: Omit<Wanted, 'jobId'>,
): Promise<AudioFacts> {
  return (await readAudio(options, call, wanted)).facts;
}

/** Fetches a caller's audio and stores it for the job. */
export async function storeInputAudio(
  options: InputAudioOptions,
  call: CallContext,
  wanted: Wanted,
): Promise<StoredAudio> {
  const { bytes, facts } = await readAudio(options, call, wanted);
  const file = await options.files.save({
    orgId: call.principal.orgId,
    bytes,
    contentType: facts.contentType === 'audio/webm' ? 'video/webm' : facts.contentType,
    durationSeconds: facts.durationSeconds,
    jobId: wanted.jobId,
    limitBytes: storageLimitOf(call.principal.plan),
  });
  return { reference: fileReference(file), fileId: file.id, facts };
}

async function probed(
  { audio }: Pick<InputAudioOptions, 'audio'>,
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
