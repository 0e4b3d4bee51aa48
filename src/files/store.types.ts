import type { Readable } from 'node:stream';

/** Names a stored file without a query: everything that a signed URL holds. */
export interface FileKey {
  orgId: string;
  /** `file_…` */
  id: string;
  /** Without a dot. */
  extension: string;
}

export interface ByteRange {
  start: number;
  /** Inclusive. */
  end: number;
}

/** Stores bytes: in a folder or in a bucket. The caller checks keys; the bytes of a key never change. */
export interface FileStore {
  /** Durable once resolved, and whole or absent: an aborted write leaves nothing. */
  put(key: FileKey, bytes: Uint8Array): Promise<void>;
  /** Stores a file of the process's spool folder, which may be moved. As durable and atomic as `put`. */
  adopt(key: FileKey, path: string): Promise<void>;
  /** Null where there is no such file. */
  size(key: FileKey): Promise<number | null>;
  read(key: FileKey): Promise<Buffer | null>;
  /** Null where there is no such file. */
  stream(key: FileKey, range?: ByteRange): Promise<Readable | null>;
  /** Nothing happens where there is no such file. */
  remove(key: FileKey): Promise<void>;
  /** The installation that the store belongs to, or null for a new one. */
  readInstallation(): Promise<string | null>;
  writeInstallation(id: string): Promise<void>;
  /** Where it is, for messages to the operator. */
  readonly location: string;
}
