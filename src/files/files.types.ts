/** A stored file's row. Rows store ids; URLs are signed whenever an answer is made (decisions 9). */
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

/** Bytes at hand, or a file in the spool folder, which may be moved away. */
export type FileSource = { bytes: Uint8Array } | { path: string; sizeBytes: number };

export interface FileService {
  /** Writes the row, then the bytes to the store. @throws quota_exceeded `Storage limit reached` where there is a limit */
  save(
    input: FileSource & {
      orgId: string;
      contentType: string;
      /** Default: that of the content type. */
      extension?: string;
      width?: number;
      height?: number;
      durationSeconds?: number;
      /** The job whose input or output it is (made already or about to be): the file is removed when that job is forgotten. */
      jobId?: string;
      /** The same for an agent's run: what was attached to it or made by its tools. */
      runId?: string;
      /** What the organisation may have stored in all, this file included; absent or -1: what was paid for is stored in any case. */
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
   * @param at signs also those addresses of the organisation again that stand in texts and opened then: a model that is told of a file
   * writes its address into its own words, which are stored and outlive it
   */
  sign<T>(orgId: string, value: T, at?: Date): T;
  /** The file that a signed URL of this installation and organisation names, or null for any other URL. */
  resolveOwn(orgId: string, url: string): Promise<StoredFile | null>;
  /**
   * Removes rows and bytes. What the store does not give up stays with its row, and goes with a later sweep once nothing refers to it: one
   * object under a lock must not keep what it belonged to.
   */
  remove(orgId: string, ids: string[]): Promise<void>;
  /**
   * Removes what was stored for a job or run that failed, was cancelled, or was refused and never made. Never rejects: what stays goes with a
   * later sweep.
   */
  removeFilesOfFailedWork(orgId: string, workId: string): Promise<void>;
}

/** An input given by a caller as http(s) URL, `data:` URL or bare base64, fetched within the limits. */
export interface FetchedInput {
  bytes: Buffer;
  /** Judged by content (magic bytes), null where unknown. */
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
    /** When all that one call gives by address must be there ({@link inputDeadline}); default: 30 s from now. */
    deadline?: number;
  }): Promise<FetchedInput>;
  /** Only the form check, for fields that are passed on to an upstream. */
  checkForm(value: string, field: string): void;
  /** The form check of what `fetch` is to read later: this installation's own signed URLs pass, wherever it lives. */
  checkInput(input: { orgId: string; value: string; field: string }): Promise<void>;
}
