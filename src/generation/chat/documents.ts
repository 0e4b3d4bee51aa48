import { ApiError, invalid } from '../../contract/errors.js';
import type { InputFetcher } from '../../files/files.types.js';
import { contentTypeOf, extensionOf, inputDeadline, UPLOADED_PREFIX } from '../../files/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';

const MAX_FILE_MB = 20;
const MAX_FILES = 20;
/** The maximum length of a document's text. A longer one is refused, because an answer about a part of it would be misleading. */
const MAX_CHARACTERS = 2_000_000;
const MAX_NAME = 255;

/** Reads the text of PDF, Markdown, text, CSV and DOCX files; the same code reads knowledge files. */
export interface DocumentReader {
  /** @throws ApiError invalid_request for a file that cannot be read; unavailable while too many files are being read */
  extract(
    document: { orgId: string; bytes: Buffer; filename: string; signal: AbortSignal },
    maxCharacters: number,
  ): Promise<{ text: string; cut: boolean }>;
}

export interface DocumentOptions {
  inputs: Pick<InputFetcher, 'fetch' | 'checkInput'>;
  documents: DocumentReader;
}

type Fields = Record<string, unknown>;

/** A file in a message. Its content is filled in after the call has its slots and before the reservation. */
export interface InputFile {
  /** Filled in place. */
  part: Fields;
  value: string;
  filename: string;
  /** Its path, as error messages name it. */
  where: string;
  /** The format of a sound; absent for documents. */
  sound?: string;
}

/** Which parts besides text and pictures a call's messages may have (beyond 11.6). */
export class FurtherParts {
  readonly files: InputFile[] = [];

  private constructor(
    private readonly model: Model,
    private readonly isOpen: boolean,
  ) {}

  /** They belong to /v1. */
  static of({ dialect }: CallContext, model: Model): FurtherParts {
    return new FurtherParts(model, dialect !== undefined);
  }

  /** The part for an upstream; null if it is neither a file nor audio. @throws ApiError invalid_request */
  read(part: Fields, where: string): Fields | null {
    if (!this.isOpen) return null;
    if (part['type'] === 'input_audio') return this.audio(part, where);
    return part['type'] === 'file' ? this.file(part, where) : null;
  }

  private audio(part: Fields, where: string): Fields {
    const { data, format } = fieldsOf(part['input_audio']);
    if (typeof data !== 'string' || data === '')
      throw invalid(`${where}.input_audio.data is required`, 'input_audio');
    if (typeof format !== 'string' || !/^[a-z0-9]{2,8}$/.test(format))
      throw invalid(`${where}.input_audio.format must be a format such as wav or mp3`, 'input_audio');
    if (!takes(this.model, 'audio'))
      throw invalid(`${where}: ${this.model.id} does not take audio`, 'input_audio');
    if (!data.startsWith(UPLOADED_PREFIX)) return part;
    return this.given({ value: data, filename: '', where, sound: format });
  }

  /** A part that is filled in later. */
  private given(file: Omit<InputFile, 'part'>): Fields {
    if (this.files.length === MAX_FILES)
      throw invalid(`A request can have at most ${MAX_FILES} files`, 'file');
    const part: Fields = {};
    this.files.push({ part, ...file });
    return part;
  }

  private file(part: Fields, where: string): Fields {
    const given = fieldsOf(part['file']);
    if (given['file_id'] != null)
      throw invalid(`${where}.file.file_id is not supported: send file_data`, 'file_id');
    const value = given['file_data'] ?? given['file_url'];
    if (typeof value !== 'string' || value === '')
      throw invalid(`${where}.file.file_data is required`, 'file_data');
    const name = given['filename'];
    if (name != null && typeof name !== 'string')
      throw invalid(`${where}.file.filename must be a string`, 'filename');
    const filename = (name ?? '').slice(0, MAX_NAME) || `file ${this.files.length + 1}`;
    return this.given({ value, filename, where });
  }
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const takes = ({ modalities }: Model, kind: 'audio' | 'file'): boolean => modalities.input.includes(kind);

/**
 * Downloads the files of a request and fills their parts in: the file itself if the model accepts files, else its text.
 * @returns the texts that came in
 * @throws ApiError invalid_request, payload_too_large, unavailable
 */
export async function fillFiles(
  files: readonly InputFile[],
  { call, model }: { call: CallContext; model: Model },
  { inputs, documents }: DocumentOptions,
): Promise<string[]> {
  const { orgId } = call.principal;
  // With an Idempotency-Key the call finishes without its caller.
  const signal = call.idempotencyKey === null ? call.signal : new AbortController().signal;
  // All files are checked before the first connection.
  for (const { value } of files) await inputs.checkInput({ orgId, value, field: 'file_data' });
  const texts: string[] = [];
  let deadline = inputDeadline();
  for (const { part, value, filename, where, sound } of files) {
    const field = sound === undefined ? `${where}.file.file_data` : `${where}.input_audio.data`;
    const fetched = await inputs.fetch({ orgId, value, field, maxMb: MAX_FILE_MB, signal, deadline });
    if (sound !== undefined) {
      const data = fetched.bytes.toString('base64');
      Object.assign(part, { type: 'input_audio', input_audio: { data, format: sound } });
      continue;
    }
    if (takes(model, 'file')) {
      Object.assign(part, filePart(fetched, filename));
      continue;
    }
    const from = performance.now();
    const text = await wordsOf(documents, { orgId, bytes: fetched.bytes, filename, signal }, where);
    deadline += performance.now() - from;
    Object.assign(part, { type: 'text', text });
    texts.push(text);
  }
  return texts;
}

/** The file's content in the convention's form, since an upstream may not reach its URL. */
function filePart(
  { bytes, contentType }: { bytes: Buffer; contentType: string | null },
  filename: string,
): Fields {
  const [, named = ''] = /\.([a-z0-9]{1,8})$/i.exec(filename) ?? [];
  const type = (contentType ?? contentTypeOf(named.toLowerCase())).split(';', 1)[0];
  const name = named === '' && contentType !== null ? `${filename}.${extensionOf(contentType)}` : filename;
  return {
    type: 'file',
    file: { filename: name, file_data: `data:${type};base64,${bytes.toString('base64')}` },
  };
}

type GivenBytes = Parameters<DocumentReader['extract']>[0];

async function wordsOf(reader: DocumentReader, document: GivenBytes, where: string): Promise<string> {
  try {
    const { text, cut } = await reader.extract(document, MAX_CHARACTERS);
    if (cut) throw invalid(`The text is longer than ${MAX_CHARACTERS} characters`);
    return `File ${JSON.stringify(document.filename)}:\n${text}`;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_request') throw error;
    throw invalid(`${where}.file: ${error.message}`, 'file');
  }
}
