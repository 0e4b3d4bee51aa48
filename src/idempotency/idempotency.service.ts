import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { timeSlicer, type TimeSlicer } from '../collections/time-slicer.js';
import { requireAccess, storageLimitOf, type AccessRequirement } from '../access/index.js';
import type { Database } from '../database/database.types.js';
import { ApiError } from '../contract/errors.js';
import type { Storage } from '../files/index.js';
import { newId } from '../contract/ids.js';
import type { CallContext, UnchargedAnswers } from '../metering/call-context.js';
import { createAnswerSeal, type AnswerSeal } from './answer-seal.js';
import { checkIdempotencyKey, fingerprintOf, inFlight, storedKey } from './idempotency.key.js';
import * as queries from './idempotency.queries.js';
import type { BeginRow } from './idempotency.queries.js';
import type {
  AnswerPart,
  AnswerRecorder,
  IdempotencyOutcome,
  IdempotencyService,
  IdempotentRequest,
  IdempotentRun,
} from './idempotency.types.js';
import { KeyHolds, type KeyHold } from './key-holds.js';
import { createUnchargedAnswers } from './uncharged-answers.js';
import { Recording } from './recording.js';

const PURGE_INTERVAL_MS = 3_600_000;
const WRITE_RETRY_MS = 1000;
/** Backoff: the wait between attempts grows up to this many times the first wait. */
const MAX_WAIT = 10;
/** A 503 answer waits this long for the key to be released. */
const LEAVE_MS = 250;
/** A charge waits this long for its answer to be stored. */
const KEEP_MS = 500;
const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024;

export interface IdempotencyDependencies {
  database: Pick<Database, 'system'>;
  /** Id of this process's row in `processes`. Its lease there tells other processes whether an in-flight key is still being worked on. */
  processId: string;
  logger: Logger;
  /** Stored answers count towards an organisation's storage limit. */
  storage: Pick<Storage, 'fault'>;
  /** Encrypts stored answers: they contain webhook secrets and signed addresses. */
  signing: { current: string; previous: string | null };
  /** Larger answers are not stored. Default 8 MB. */
  maxBodyBytes?: number;
  /** First wait after a write that failed. Default 1 s. */
  retryMs?: number;
}

type Kept = Required<
  Pick<IdempotencyDependencies, 'database' | 'storage' | 'processId' | 'logger' | 'maxBodyBytes' | 'retryMs'>
> & {
  closed: boolean;
  /** Serialises long answers in time slices. */
  timeSlicer: TimeSlicer;
  seal: AnswerSeal;
  holds: KeyHolds;
  /** Answers that this process is sending now, by the key's row id, with their call. */
  live: Map<string, { recording: Recording; call: CallContext }>;
};

/** Idempotency keys for all POSTs (decisions 6). One round trip to begin, one to finish. */
export function createIdempotency(dependencies: IdempotencyDependencies): IdempotencyService {
  const seal = createAnswerSeal(dependencies.signing);
  const defaults = { maxBodyBytes: DEFAULT_MAX_BODY_BYTES, retryMs: WRITE_RETRY_MS };
  const state = { seal, timeSlicer, holds: new KeyHolds(), live: new Map(), closed: false };
  const kept: Kept = { ...defaults, ...dependencies, ...state };
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      const purge = () =>
        queries.purge(kept.database.system).catch((error: unknown) => {
          kept.logger.warn({ err: error }, 'purging idempotency keys failed; the next purge tries again');
        });
      timer ??= setInterval(() => void purge(), PURGE_INTERVAL_MS).unref();
    },
    begin: (request) => begin(kept, request),
    keeps,
    async close() {
      kept.closed = true;
      clearInterval(timer);
    },
  };
}

/** Whether an answer is stored: a success, or a refusal after admission; never a server fault. */
function keeps(call: CallContext, answer: { status: number; errorStatuses?: number[] }): boolean {
  const statuses = [answer.status, ...(answer.errorStatuses ?? [])];
  if (statuses.some((status) => status >= 500)) return false;
  return call.admitted === true || statuses.every((status) => status < 400);
}

async function begin(kept: Kept, request: IdempotentRequest): Promise<IdempotencyOutcome> {
  checkIdempotencyKey(request.key);
  const { system } = kept.database;
  const { processId } = kept;
  const fingerprint = fingerprintOf(request);
  const input = {
    id: newId('idem'),
    orgId: request.call.principal.orgId,
    key: storedKey(request, fingerprint),
    fingerprint,
    processId,
  };
  const hold = kept.holds.take(input.orgId, input.key);
  const letGo = (rowId: string) =>
    persist(kept, async () => {
      await queries.release(system, rowId, processId);
      hold.release();
    });
  const { orgId, plan } = request.call.principal;
  const isFull = kept.storage.fault(orgId, storageLimitOf(plan));
  isFull.catch(() => undefined);
  let row: BeginRow;
  try {
    row = await ask(kept, input, hold);
  } catch (error) {
    // The database may have written the row before the connection was lost. Then no other process could get the key while this one lives, so it
    // is released.
    void letGo(input.id);
    throw error;
  }
  try {
    // Only a request that takes a key over can find bound objects.
    const isTakenOver = row.outcome === 'run' && row.owner === null;
    const full = row.outcome === 'run' && !isTakenOver ? await isFull : null;
    if (full !== null) throw full;
    const made = isTakenOver ? await queries.made(system, row.row_id) : null;
    const outcome = outcomeOf(kept, { request, row, hold, made });
    if (outcome.kind !== 'run') hold.release();
    return outcome;
  } catch (error) {
    // Releases a key that was given to a request which is now refused.
    if (row.outcome === 'run') await letGo(row.row_id);
    else hold.release();
    throw error;
  }
}

/** Asks for a key. If this process holds the key but no request works on it, the earlier answer of the database was lost; then it asks again. */
async function ask(kept: Kept, input: queries.BeginInput, hold: KeyHold): Promise<BeginRow> {
  const { system } = kept.database;
  const { processId } = kept;
  const row = await queries.begin(system, input);
  if (row.outcome !== 'in_flight' || row.owner !== processId || !hold.isAlone) return row;
  await queries.release(system, row.row_id, processId);
  return await queries.begin(system, input);
}

interface Asked {
  request: IdempotentRequest;
  row: BeginRow;
  hold: KeyHold;
  /** Sealed. */
  made: Buffer | null;
}

function outcomeOf(kept: Kept, requested: Asked): IdempotencyOutcome {
  const { request, row } = requested;
  switch (row.outcome) {
    case 'mismatch':
      throw new ApiError('idempotency_mismatch', 'This Idempotency-Key was used with another request');
    case 'done':
      return replay(kept, request, row);
    case 'in_flight':
      return meetInFlight(kept, request, row);
    case 'run':
      return takeUp(kept, requested);
  }
}

/** Starts the work: all of it, or the rest that an earlier request with the key left. */
function takeUp(kept: Kept, { request: { call }, row, hold, made }: Asked): IdempotencyOutcome {
  const stored = { headers: row.answer_headers ?? {}, body: row.answer_body };
  const opened = kept.seal.open(stored);
  if (opened === null) {
    const run = runOf(kept, { call, row, hold, made });
    return { kind: 'run', run, boundIds: row.jobs, part: null };
  }
  requireAll(call, row.granted);
  call.accessRequirements = [
    ...new Set([...(call.accessRequirements ?? []), ...(row.granted as AccessRequirement[])]),
  ];
  const part = { status: row.answer_status ?? 200, ...opened };
  return { kind: 'run', run: runOf(kept, { call, row, hold, made }), boundIds: row.jobs, part };
}

function replay(kept: Kept, request: IdempotentRequest, row: BeginRow): IdempotencyOutcome {
  requireAll(request.call, row.granted);
  const answer = kept.seal.open({ headers: row.answer_headers ?? {}, body: row.answer_body });
  if (answer !== null) return { kind: 'replay', answer: { status: row.answer_status ?? 200, ...answer } };
  if (row.jobs.length > 0) return { kind: 'await', boundIds: row.jobs };
  const reason =
    row.answer_body === null
      ? 'was too large to be kept'
      : 'was kept under a signing secret that is not known here';
  throw new ApiError('conflict', `The first answer ${reason}`);
}

/** A replay shows what the first caller was allowed to see, so its caller must meet the same requirements. */
function requireAll({ principal }: CallContext, requirements: readonly string[]): void {
  for (const requirement of requirements) requireAccess(principal, requirement as AccessRequirement);
}

function meetInFlight(kept: Kept, request: IdempotentRequest, row: BeginRow): IdempotencyOutcome {
  const live = row.owner === kept.processId ? kept.live.get(row.row_id) : undefined;
  const joined = live?.recording.join();
  if (live && joined) {
    requireAll(request.call, live.call.accessRequirements ?? []);
    return { kind: 'join', answer: joined };
  }
  if (row.jobs.length > 0 && request.singleEffect) return { kind: 'await', boundIds: row.jobs };
  throw inFlight();
}

type Work = Omit<Asked, 'request'> & { call: CallContext };

function runOf(kept: Kept, { call, row, hold, made }: Work): IdempotentRun {
  const rowId = row.row_id;
  const { processId } = kept;
  const { system } = kept.database;
  const close = () => {
    kept.live.get(rowId)?.recording.end();
    kept.live.delete(rowId);
  };
  const sealedPart = ({ headers, body, jobs }: AnswerPart): queries.PartInput => {
    const scopes = [...(call.accessRequirements ?? [])];
    return { rowId, processId, status: 200, scopes, jobs, ...kept.seal.seal({ headers, body }) };
  };
  /** The last write: it releases or completes the key. */
  const end = (write: () => Promise<void>) =>
    persist(kept, async () => {
      await write();
      hold.release();
    });
  return {
    rowId,
    unchargedAnswers: unchargedAnswersOf(kept, rowId, made),
    record(head): AnswerRecorder {
      const recording = new Recording(head, kept.maxBodyBytes);
      kept.live.set(rowId, { recording, call });
      return recording;
    },
    async finish({ status, headers, body }) {
      const whole = body ?? kept.live.get(rowId)?.recording.body() ?? null;
      const fits = whole !== null && whole.length <= kept.maxBodyBytes;
      const scopes = [...(call.accessRequirements ?? [])];
      const sealed = fits ? kept.seal.seal({ headers, body: whole }) : { headers, body: null };
      await end(() => queries.finish(system, { rowId, processId, status, ...sealed, scopes }));
      close();
    },
    async notePart(part) {
      if (part.body.length > kept.maxBodyBytes) return;
      try {
        await queries.notePart(system, sealedPart(part));
      } catch (error) {
        kept.logger.warn(
          { err: error },
          'the progress on a document could not be stored; the work continues',
        );
      }
    },
    async keepPart(part) {
      close();
      if (part.body.length > kept.maxBodyBytes) return await this.abandon();
      const sealed = sealedPart(part);
      await end(() => queries.keepPart(system, sealed));
    },
    async abandon(status) {
      close();
      if (status !== 503) return await end(() => queries.forget(system, rowId, processId));
      // A caller that has already waited for PostgreSQL does not wait for this write too.
      const left = end(() => queries.release(system, rowId, processId));
      await Promise.race([left, sleep(LEAVE_MS, undefined, { ref: false })]);
    },
  };
}

function unchargedAnswersOf(kept: Kept, rowId: string, sealed: Buffer | null): UnchargedAnswers {
  const { seal, timeSlicer, maxBodyBytes, processId, database, logger } = kept;
  const left = sealed && seal.openBytes(sealed);
  const write = async (bytes: Buffer | null): Promise<void> => {
    const made = bytes && seal.sealBytes(bytes);
    const written = queries.keepMade(database.system, { rowId, processId, made }).catch((error: unknown) => {
      logger.warn(
        { err: error },
        'an answer could not be stored before its charge; the call continues without that',
      );
      return true;
    });
    // If PostgreSQL is away, the charge waits for it. Whether this process still has the key is then unknown, and the answer counts as kept.
    const isOurs = await Promise.race([written, sleep(KEEP_MS, true, { ref: false })]);
    if (!isOurs) throw inFlight();
  };
  return createUnchargedAnswers({ left, timeSlicer, maxBytes: maxBodyBytes, write });
}

/**
 * Repeats a failed write in the background until it works. The work is done and the caller gets its answer anyway; but a key that stays in flight
 * while its process lives would refuse retries for a day.
 */
async function persist(kept: Kept, write: () => Promise<void>, attempt = 1): Promise<void> {
  try {
    await write();
  } catch (error) {
    kept.logger.warn({ err: error, attempt }, 'an idempotency key could not be written');
    if (kept.closed) return;
    const waitMs = Math.min(attempt, MAX_WAIT) * kept.retryMs;
    setTimeout(() => void persist(kept, write, attempt + 1), waitMs).unref();
  }
}
