import { storageLimitOf } from '../../access/index.js';
import { UnreadableAudioError } from '../../audio/index.js';
import type { Audio, AudioFacts, ProbedAudio } from '../../audio/index.js';
import { freeBytes } from '../../collections/free-bytes.js';
import { fileTooLarge, invalid } from '../../contract/errors.js';
import { fileReference } from '../../files/index.js';
import type { FileService, InputFetcher } from '../../files/files.types.js';
import type { CallContext } from '../../metering/call-context.js';

/** Audio that callers give (decisions 6, "Generations"). */
export const MAX_AUDIO_MB = 25;
const MB = 1_048_576;
/** Accepted audio formats (contract 4.7); also raw AAC (ADTS), a format of generated speech. */
export const SOUND_FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/mpeg', 'MP3'],
  ['audio/wav', 'WAV'],
  ['audio/mp4', 'M4A'],
  ['audio/flac', 'FLAC'],
  ['audio/ogg', 'OGG'],
  ['audio/webm', 'WebM'],
  ['audio/aac', 'AAC'],
]);

/** WebM is stored with the extension that browsers play. */
const WEBM_SOUND = 'audio/webm';
const WEBM = 'video/webm';

export interface InputAudioOptions {
  inputs: Pick<InputFetcher, 'fetch'>;
  files: Pick<FileService, 'save' | 'read' | 'get'>;
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
  /** The accepted types, which the error message lists. */
  contentTypes: ReadonlyMap<string, string>;
  maxSeconds: number;
}

/**
 * Downloads a caller's audio and detects its type from its content.
 * @throws ApiError invalid_request for another format, or audio that is too long; payload_too_large
 */
async function readAudio(
  options: Omit<InputAudioOptions, 'files'>,
  call: CallContext,
  wanted: Omit<Wanted, 'jobId'>,
): Promise<{ bytes: Buffer; facts: AudioFacts }> {
  const given = await bytesOf(options, call, wanted);
  let bytes: Buffer | null = null;
  try {
    const accepted = await acceptedAudio(options, given, { ...wanted, signal: call.signal });
    const { bytes: own, ...facts } = accepted;
    bytes = own;
    return { bytes: own, facts };
  } finally {
    if (bytes?.buffer !== given.buffer) forget(wanted, given);
  }
}

/** An upload's bytes are its request's. */
function forget({ value }: Pick<Wanted, 'value'>, bytes: Buffer): void {
  if (typeof value === 'string') freeBytes(bytes);
}

async function acceptedAudio(
  options: Pick<InputAudioOptions, 'audio'>,
  bytes: Buffer,
  wanted: Omit<Wanted, 'jobId' | 'value'> & { signal: AbortSignal },
): Promise<ProbedAudio> {
  const { field, reader, contentTypes, maxSeconds, signal } = wanted;
  const names = [...contentTypes.values()].join(', ');
  const facts = await probed(options, bytes, { field, names, signal });
  if (!contentTypes.has(facts.contentType)) throw invalid(`${field} must be audio: ${names}`, field);
  if (facts.durationSeconds > maxSeconds)
    throw invalid(`${field} exceeds the maximum duration of ${maxSeconds} seconds`, field);
  if (reader !== undefined && !facts.readable) throw invalid(`Model ${reader} cannot read this audio`, field);
  return facts;
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

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
  return asBuffer(value);
}

/** Inspects a caller's audio without storing it. */
export async function measureInputAudio(
  options: InputAudioOptions,
  call: CallContext,
  wanted: Omit<Wanted, 'jobId'>,
): Promise<AudioFacts> {
  const { bytes, facts } = await readAudio(options, call, wanted);
  forget(wanted, bytes);
  return facts;
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
    contentType: facts.contentType === WEBM_SOUND ? WEBM : facts.contentType,
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
): Promise<ProbedAudio> {
  try {
    return await audio.probe(bytes, { signal });
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw invalid(`${field} must be audio: ${names}`, field);
    throw error;
  }
}

export interface InputAudio {
  bytes: Buffer;
  contentType: string;
  durationSeconds: number;
}

/** A file to which a job's inputParams refer, with what was detected when it was stored. */
export async function readInputAudio(
  files: Pick<FileService, 'read' | 'get'>,
  orgId: string,
  reference: { $file: string },
): Promise<InputAudio> {
  const [id = ''] = reference.$file.split('.');
  const [bytes, stored] = [await files.read(orgId, id), await files.get(orgId, id)];
  const contentType = stored.contentType === WEBM ? WEBM_SOUND : stored.contentType;
  return { bytes, contentType, durationSeconds: stored.durationSeconds ?? 0 };
}
