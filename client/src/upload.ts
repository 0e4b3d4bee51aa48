import { mutations } from './operations.generated.js';
import type { UploadPurpose } from './operations.generated.js';
import { connectionLost, httpFault, PenstockError } from './fault.js';
import { pause } from './pause.js';
import { randomKey } from './random.js';
import type { Transport } from './transport.js';

/** A file that was uploaded completely. */
export interface UploadedFile {
  /** Its id, `file_…`. */
  id: string;
  /** `file:<id>`: the value for every field that takes a file. */
  reference: string;
  /** Its media type. */
  contentType: string;
  /** Its size in bytes. */
  sizeBytes: number;
}

/** Options of an upload. */
export interface UploadOptions {
  /** Default: `input`, for fields that take a file. Use `knowledge` for `uploadKnowledgeFile`. */
  purpose?: UploadPurpose;
  /** Default: the media type of the blob, or else the type that belongs to its name. */
  contentType?: string;
  /** Called as the bytes arrive at the server, with a number from 0 to 1. */
  onProgress?(fraction: number): void;
  /** Cancels the upload. The server deletes the received parts within 24 hours. */
  signal?: AbortSignal;
}

/** Uploads a file in parts. After a lost connection, a restart of the server, or sleep, it continues where it stopped. @throws PenstockError */
export type Upload = (blob: Blob, options?: UploadOptions) => Promise<UploadedFile>;

const FIRST_PART = 262_144;
const SMALLEST_PART = 65_536;
const LARGEST_PART = 8_388_608;
/** A part that takes longer is aborted, and the rest is sent in smaller parts: the connection may have been lost silently. */
const PART_MS = 60_000;
/** Parts grow until one takes this long. */
const QUICK_MS = 2_000;

const TYPES_BY_NAME: Record<string, string> = {
  md: 'text/markdown',
  csv: 'text/csv',
  txt: 'text/plain',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pdf: 'application/pdf',
  mkv: 'video/x-matroska',
  m4a: 'audio/mp4',
  flac: 'audio/flac',
};

function typeOf(blob: Blob): string {
  if (blob.type !== '') return blob.type;
  const name = 'name' in blob ? String(blob.name) : '';
  return TYPES_BY_NAME[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream';
}

interface Begun {
  url: string;
  headers: { name: string; value: string }[];
  file: { id: string; contentType: string; sizeBytes: number };
}

/** Repeats the work until it succeeds, as long as the failures may be temporary. */
async function persist<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted === true || !(error instanceof PenstockError) || !error.isTemporary) throw error;
      await pause(tries, error);
      signal?.throwIfAborted();
    }
  }
}

export function createUpload(transport: Pick<Transport, 'request'>): Upload {
  return async (blob, options = {}) => {
    const { purpose = 'input', contentType = typeOf(blob), signal } = options;
    const input = { contentType, sizeBytes: blob.size, purpose };
    // The key makes sure that repeated requests create only one upload.
    const keyed = { idempotencyKey: randomKey(), ...(signal && { signal }) };
    const { createUpload: begun } = await persist(signal, () =>
      transport.request<{ createUpload: Begun }>(mutations.createUpload.text, { input }, keyed),
    );
    await new Sending(begun, blob, options).run();
    const { id, sizeBytes } = begun.file;
    return { id, reference: `file:${id}`, contentType: begun.file.contentType, sizeBytes };
  };
}

/** The upload of one file. */
class Sending {
  /** The number of bytes that the server has; null if it is unknown and the server must be asked. */
  private at: number | null = 0;
  private part = FIRST_PART;

  constructor(
    private readonly begun: Begun,
    private readonly blob: Blob,
    private readonly options: UploadOptions,
  ) {}

  async run(): Promise<void> {
    const { signal, onProgress } = this.options;
    onProgress?.(0);
    while (!(await persist(signal, () => this.step()))) onProgress?.((this.at ?? 0) / this.blob.size);
    onProgress?.(1);
  }

  /** Sends the next part, or asks the server how many bytes it has. @returns whether the server has the whole file */
  private async step(): Promise<boolean> {
    const { at } = this;
    const total = this.blob.size;
    const end = at === null ? null : Math.min(total, at + this.part);
    const range = at === null || end === null ? `*/${total}` : `${at}-${end - 1}/${total}`;
    const began = Date.now();
    // Until there is an answer, the number of bytes that arrived is unknown.
    this.at = null;
    const response = await this.put(range, at === null || end === null ? null : this.blob.slice(at, end));
    if (response.status === 200) return true;
    if (response.status !== 308 && response.status !== 409)
      throw httpFault(await response.json().catch(() => null), response);
    const last = /^bytes=0-(\d+)$/.exec(response.headers.get('range') ?? '')?.[1];
    this.at = last === undefined ? 0 : Number(last) + 1;
    if (at !== null && Date.now() - began < QUICK_MS) this.part = Math.min(LARGEST_PART, this.part * 2);
    return false;
  }

  private async put(range: string, body: Blob | null): Promise<Response> {
    const { signal } = this.options;
    const headers = new Headers(this.begun.headers.map(({ name, value }) => [name, value]));
    headers.set('content-range', `bytes ${range}`);
    const late = AbortSignal.timeout(PART_MS);
    const either = signal === undefined ? late : AbortSignal.any([signal, late]);
    try {
      return await fetch(this.begun.url, { method: 'PUT', headers, body, signal: either });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      this.part = Math.max(SMALLEST_PART, Math.floor(this.part / 2));
      throw connectionLost();
    }
  }
}
