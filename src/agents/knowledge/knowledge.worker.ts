import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.types.js';
import type { FileService } from '../../files/files.types.js';
import { newId } from '../../ids.js';
import { chunksOf } from './chunks.js';
import { ExtractionError, extractText } from './extract.js';
import { CONTENT_TYPES } from './file-kind.js';
import type { FileKind } from './file-kind.js';
import { CLAIM, COMPLETE, EXPIRE, FAIL, GIVE_BACK } from './knowledge.queries.js';
import { vectorOf } from './vectors.js';

/** Longer than extraction may take (extract.ts); a lost worker's file is taken up again after it. */
const LEASE_MS = 90_000;
const SWEEP_MS = 5000;

interface Claimed {
  id: string;
  org_id: string;
  file_id: string;
  content_type: string;
  fence: number;
}

export interface KnowledgeWorker {
  start(): void;
  /** Gives the file in hand back to pending. */
  stop(): Promise<void>;
}

export interface KnowledgeWorkerOptions {
  database: Database;
  files: FileService;
  logger: Logger;
}

/** pending → processing → completed | failed: one file at a time, its text read in a process of its own. */
export function createKnowledgeWorker({ database, files, logger }: KnowledgeWorkerOptions): KnowledgeWorker {
  const workerId = newId('wrk');
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let off: (() => void) | null = null;
  let working: Promise<void> | null = null;
  let again = false;

  const processFile = async (claimed: Claimed): Promise<void> => {
    const { system } = database;
    try {
      const bytes = await files.read(claimed.org_id, claimed.file_id);
      const text = await extractText(bytes, kindFrom(claimed.content_type), stopping.signal);
      const chunks = chunksOf(text);
      if (chunks.length === 0) throw new ExtractionError('The file has no text');
      const vectors = await vectorsOf(chunks);
      await system.query(COMPLETE, [claimed.id, claimed.fence, chunks, vectors]);
    } catch (error) {
      if (stopping.signal.aborted) return void (await system.query(GIVE_BACK, [claimed.id, claimed.fence]));
      const known = error instanceof ExtractionError || error instanceof RangeError;
      if (!known)
        logger.error({ err: error, knowledgeFileId: claimed.id }, 'a knowledge file could not be read');
      await system.query(FAIL, [
        claimed.id,
        claimed.fence,
        known ? error.message : 'The file cannot be read',
      ]);
    }
  };

  const drain = async (): Promise<void> => {
    try {
      await database.system.query(EXPIRE);
      for (;;) {
        again = false;
        if (stopping.signal.aborted) return;
        const [claimed] = await database.system.query<Claimed>(CLAIM, [workerId, LEASE_MS]);
        if (claimed !== undefined) await processFile(claimed);
        else if (!again) return;
      }
    } catch (error) {
      logger.warn({ err: error }, 'knowledge files could not be claimed');
    }
  };

  const wake = (): void => {
    again = true;
    if (stopping.signal.aborted) return;
    working ??= drain().finally(() => {
      working = null;
    });
  };

  return {
    start() {
      off = database.hints.on('knowledge', wake);
      timer = setInterval(wake, SWEEP_MS);
      timer.unref();
      wake();
    },
    async stop() {
      stopping.abort();
      off?.();
      if (timer !== null) clearInterval(timer);
      await working;
    },
  };
}

function kindFrom(contentType: string): FileKind {
  const found = Object.entries(CONTENT_TYPES).find(([, type]) => type === contentType);
  return (found?.[0] ?? 'txt') as FileKind;
}

/** Base64, in slices that leave the event loop to others. */
async function vectorsOf(chunks: string[]): Promise<string[]> {
  const vectors: string[] = [];
  for (const [at, chunk] of chunks.entries()) {
    vectors.push(vectorOf(chunk).toString('base64'));
    if (at % 8 === 7) await turn();
  }
  return vectors;
}
