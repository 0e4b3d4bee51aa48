import type { Logger } from 'pino';
import type { Database } from '../../database/database.types.js';
import { ApiError } from '../../contract/errors.js';
import type { FileService } from '../../files/files.types.js';
import { newId } from '../../contract/ids.js';
import { FairSemaphore } from '../../processes/index.js';
import type { Permit } from '../../processes/index.js';
import { ExtractionError, extractPassages } from './extract.js';
import { CONTENT_TYPES } from './file-kind.js';
import type { FileKind } from './file-kind.js';
import {
  CLAIM,
  COMPLETE,
  EXPIRE,
  FAIL,
  RELEASE_CLAIMS,
  HAS_SWEEP_WORK,
  SELECT_EXISTING,
  STORE,
} from './knowledge.queries.js';

/** Longer than extraction may take (extract.ts); afterwards another worker may claim the file. */
const LEASE_MS = 90_000;
const SWEEP_MS = 5000;
/** How often the worker checks whether its files were deleted. */
const STILL_MS = 1000;
/** Files that are read at a time, with one more in reserve: each takes a process of up to 440 MB. */
const READERS = 1;

interface Claimed {
  id: string;
  org_id: string;
  file_id: string;
  content_type: string;
  fence: number;
}

export interface KnowledgeWorker {
  start(): void;
  /** Returns the claimed files to pending. */
  stop(): Promise<void>;
}

export interface KnowledgeWorkerOptions {
  database: Database;
  files: FileService;
  logger: Logger;
}

/** pending → processing → completed | failed: each file's text is read in a process of its own, few at a time. */
export function createKnowledgeWorker(options: KnowledgeWorkerOptions): KnowledgeWorker {
  return new Worker(options);
}

class Worker implements KnowledgeWorker {
  private readonly id = newId('wrk');
  private readonly stopping = new AbortController();
  private readonly permits = new FairSemaphore({ permits: READERS, onFree: () => this.wake() });
  /** Claimed files, with the controller that stops their reading. */
  private readonly reading = new Map<string, { gone: AbortController; ended: Promise<void> }>();
  private readonly timers: NodeJS.Timeout[] = [];
  private off: (() => void) | null = null;
  private claiming: Promise<void> | null = null;
  private again = false;

  constructor(private readonly options: KnowledgeWorkerOptions) {}

  start(): void {
    this.off = this.options.database.hints.on('knowledge', () => this.wake());
    this.timers.push(
      setInterval(() => void this.sweep(), SWEEP_MS).unref(),
      setInterval(() => void this.stopDeleted(), STILL_MS).unref(),
    );
    this.wake();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.off?.();
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    await this.claiming;
    await Promise.all([...this.reading.values()].map(({ ended }) => ended));
  }

  private wake(): void {
    this.again = true;
    if (this.stopping.signal.aborted) return;
    this.claiming ??= this.drain().finally(() => {
      this.claiming = null;
      // A hint that arrived while the previous check was ending causes another check.
      if (this.again && this.hasPermit()) this.wake();
    });
  }

  private hasPermit(): boolean {
    const { free, reserve } = this.permits.available;
    return free + reserve > 0;
  }

  private async sweep(): Promise<void> {
    try {
      if ((await this.options.database.system.query(HAS_SWEEP_WORK)).length > 0) this.wake();
    } catch (error) {
      this.options.logger.warn({ err: error }, 'knowledge files could not be looked for');
    }
  }

  private async drain(): Promise<void> {
    const { system } = this.options.database;
    try {
      await system.query(EXPIRE);
      while (this.again && !this.stopping.signal.aborted && this.hasPermit()) {
        this.again = false;
        const onlyNewcomers = this.permits.available.free === 0;
        const [claimed] = await system.query<Claimed>(CLAIM, [this.id, LEASE_MS, onlyNewcomers]);
        if (claimed === undefined) continue;
        this.begin(claimed, this.permits.take(claimed.org_id));
        this.again = true;
      }
    } catch (error) {
      this.again = false;
      this.options.logger.warn({ err: error }, 'knowledge files could not be claimed');
    }
  }

  private begin(claimed: Claimed, permit: Permit): void {
    const gone = new AbortController();
    const { logger } = this.options;
    const ended = this.read(claimed, AbortSignal.any([gone.signal, this.stopping.signal]))
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'the end of a knowledge file could not be written'),
      )
      .finally(() => {
        this.reading.delete(claimed.id);
        permit.release();
      });
    this.reading.set(claimed.id, { gone, ended });
  }

  private async stopDeleted(): Promise<void> {
    const ids = [...this.reading.keys()];
    if (ids.length === 0) return;
    try {
      const rows = await this.options.database.system.query<{ id: string }>(SELECT_EXISTING, [ids]);
      const still = new Set(rows.map(({ id }) => id));
      for (const id of ids) if (!still.has(id)) this.reading.get(id)?.gone.abort();
    } catch (error) {
      this.options.logger.debug({ err: error }, 'knowledge files in hand could not be looked at');
    }
  }

  /** All passages and the file's completion, or nothing where the attempt is no longer its own. */
  private async complete({ id, fence }: Claimed, passages: Iterable<Buffer>): Promise<void> {
    await this.options.database.transaction(async (sql) => {
      if ((await sql.query(COMPLETE, [id, fence])).length === 0) return;
      for (const part of passages) await sql.query(STORE, [id, part]);
    });
  }

  private async read(claimed: Claimed, signal: AbortSignal): Promise<void> {
    const { database, files, logger } = this.options;
    const { system } = database;
    try {
      const bytes = await files.read(claimed.org_id, claimed.file_id).catch(throwAsAway);
      const kind = kindFrom(claimed.content_type);
      const passages = await extractPassages({ bytes, kind, signal });
      await this.complete(claimed, passages);
    } catch (error) {
      // The database was unreachable, which is no fault of the file. If it still is, the lease expires.
      if (this.stopping.signal.aborted || (error instanceof ApiError && error.code === 'unavailable')) {
        await system.query(RELEASE_CLAIMS, [claimed.id, claimed.fence]);
        return;
      }
      if (error instanceof StoreAway) {
        logger.error(
          { err: error.cause, knowledgeFileId: claimed.id },
          'a knowledge file could not be fetched yet',
        );
        return;
      }
      const known = error instanceof ExtractionError;
      // The file was deleted while it waited.
      const gone = error instanceof ApiError && error.code === 'not_found';
      if (!known && !gone)
        logger.error({ err: error, knowledgeFileId: claimed.id }, 'a knowledge file could not be read');
      await system.query(FAIL, [
        claimed.id,
        claimed.fence,
        known ? error.message : 'The file cannot be read',
      ]);
    }
  }
}

/** Storage did not return the bytes. The lease expires, and the next attempt reads them again. */
class StoreAway extends Error {}

function throwAsAway(error: unknown): never {
  throw error instanceof ApiError ? error : new StoreAway('The store is away', { cause: error });
}

function kindFrom(contentType: string): FileKind {
  const found = Object.entries(CONTENT_TYPES).find(([, type]) => type === contentType);
  return (found?.[0] ?? 'txt') as FileKind;
}
