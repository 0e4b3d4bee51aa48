/** A stored file's row. The database stores ids; URLs are signed when an answer is made (decisions 9). */
export interface StoredFile {
  /** `file_…` */
  id: string;
  orgId: string;
  contentType: string;
  sizeBytes: number;
  /** File name extension without a dot, as shown in URLs. */
  extension: string;
  width: number | null;
  height: number | null;
  durationSeconds: number | null;
}

/** Bytes in memory, or a file in the spool folder, which the store may move. */
export type FileSource = { bytes: Uint8Array } | { path: string; sizeBytes: number };

export interface FileService {
  /** Writes the row, then the bytes to the store. @throws ApiError quota_exceeded `Storage limit reached` */
  save(
    input: FileSource & {
      orgId: string;
      contentType: string;
      /** Default: that of the content type. */
      extension?: string;
      width?: number;
      height?: number;
      durationSeconds?: number;
      /** The job (created already or soon) whose input or output the file is. The file is removed together with that job. */
      jobId?: string;
      /** The agent's run to which the file was attached, or whose tools made it. The file is removed together with that run. */
      runId?: string;
      /** The organisation's storage limit, this file included. Absent or -1: no limit (results that were paid for are always stored). */
      limitBytes?: number;
    },
  ): Promise<StoredFile>;
  /** @throws not_found */
  get(orgId: string, id: string): Promise<StoredFile>;
  read(orgId: string, id: string): Promise<Buffer>;
  /** Signed absolute URL, valid 7 days rounded to the day; no query. Extension makes the URL end in a file name. */
  url(file: { orgId: string; id: string; extension: string }): string;
  /**
   * Replaces every `{"$file": "<id>.<extension>"}` of a JSON value by its signed URL, without a query.
   * @param at also renews signed addresses of the organisation inside texts, if they were valid at that time: a model copies a file's address
   * into its answer, which is stored longer than the signature is valid
   */
  sign<T>(orgId: string, value: T, at?: Date): T;
  /** A file that was uploaded whole for the purpose and is still kept, else null. */
  uploaded(orgId: string, id: string, purpose: 'input' | 'knowledge'): Promise<StoredFile | null>;
  /** The file that a signed URL of this installation and organisation names, or `file:<id>` of an upload; null for any other value. */
  resolveOwn(orgId: string, url: string): Promise<StoredFile | null>;
  /**
   * Removes rows and bytes. If the store cannot delete an object, its row is kept and a later sweep tries again: one locked object must not block
   * the deletion of the job or agent that it belonged to.
   */
  remove(orgId: string, ids: string[]): Promise<void>;
  /**
   * Removes the files of a job or run that failed, was cancelled, or was refused before it was created. Never rejects: a later sweep removes what
   * remains.
   */
  removeFilesOfFailedWork(orgId: string, workId: string): Promise<void>;
}

/** An input given by a caller as http(s) URL, `data:` URL or bare base64, fetched within the limits. */
export interface FetchedInput {
  bytes: Buffer;
  /** Detected from the content (magic bytes); null if unknown. */
  contentType: string | null;
}

export interface InputFetcher {
  /**
   * @throws ApiError invalid_request `Invalid URL` (param) for a forbidden form or host before any connection;
   * payload_too_large `<field> exceeds the maximum size of <N> MB`; invalid_request `Could not fetch <field>`
   */
  fetch(input: {
    orgId: string;
    value: string;
    field: string;
    maxMb: number;
    signal?: AbortSignal;
    /** When all inputs of one call must have been read ({@link inputDeadline}); default: 30 s from now. */
    deadline?: number;
  }): Promise<FetchedInput>;
  /** Checks only the URL's form, for fields that are passed to an upstream. */
  checkForm(value: string, field: string): void;
  /** Checks the form of an input that `fetch` will read later. This installation's own signed URLs pass, even on a private address. */
  checkInput(input: { orgId: string; value: string; field: string }): Promise<void>;
}
