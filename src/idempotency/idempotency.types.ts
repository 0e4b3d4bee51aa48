import type { CallContext, MadeAnswers } from '../metering/call-context.js';

/** What makes two requests the same (decisions 6, "Beyond the contract"). */
export interface IdempotentRequest {
  call: CallContext;
  /** The header's value as sent. */
  key: string;
  method: string;
  path: string;
  /** Without its `?`. */
  query: string;
  body: Uint8Array;
  /**
   * True where the request is one generation and nothing else (REST), so that a retry may wait for the bound job beside the first
   * call; false (GraphQL: a document can hold several effects) answers 409 as long as the first call's process lives.
   */
  singleEffect: boolean;
  /**
   * True where other requests may bear the same key (GraphQL: a router sends one caller's header with every fetch): each is a call of its
   * own, and none is a mismatch.
   */
  sharesKey?: boolean;
}

/** A call that makes something once: a retry with its Idempotency-Key gets what was made. */
export type KeyedCall = Pick<CallContext, 'principal' | 'idempotencyKey' | 'boundIds'>;

/** An answer as it was first given. */
export interface RecordedAnswer {
  status: number;
  /** Lower-case names; at least content-type. Neither rate limit nor request id headers: those are each request's own. */
  headers: Record<string, string>;
  body: Buffer;
}

/** An answer that is being given now, on this process: what was sent so far, then the rest as it comes. */
export interface JoinedAnswer {
  status: number;
  headers: Record<string, string>;
  /** Whole events. */
  body: AsyncIterable<string>;
}

/** How a streamed answer begins. */
export interface RecordedHead {
  status: number;
  headers: Record<string, string>;
  /** What a reader gets in the place of the rest where the answer grew too large to be kept for it. */
  lost: string;
}

/** Where a streamed answer is copied to while it is sent. */
export interface AnswerRecorder {
  /** @returns whether it is kept for those who join */
  write(chunk: string): boolean;
}

/** What of an answer was done when the rest failed, so that a retry does not do it again. */
export interface AnswerPart {
  body: Buffer;
  headers: Record<string, string>;
  /** Those that are still at work: a retry waits for them. */
  jobs: string[];
}

/** The right to do the work of one key, held by one process at a time. Exactly one of `finish`, `keepPart` and `abandon` must be called. */
export interface IdempotentRun {
  /** For `call.idempotencyKey`: the row that the call's job is bound to. */
  rowId: string;
  /** For `call.madeAnswers`. */
  madeAnswers: MadeAnswers;
  /** Opens the answer to retries that join it (streams). `finish` then takes the recorded bytes where it is given no body. */
  record(head: RecordedHead): AnswerRecorder;
  /** Keeps the answer for 24 h. Bodies over the bound are not kept (a retry then waits for the job, or is told with 409). */
  finish(answer: { status: number; headers: Record<string, string>; body?: Buffer }): Promise<void>;
  /** What is done so far, for whoever takes the key over should this process die. Never rejects. Call it any number of times, before the end. */
  notePart(part: AnswerPart): Promise<void>;
  /** Instead of `abandon`: the next request with the key runs again, with this part in hand. */
  keepPart(part: AnswerPart): Promise<void>;
  /**
   * Forgets the key: the next request with it runs again. After a 503 (still processing, draining) the key keeps the jobs that were
   * made, so that the next request waits for them.
   */
  abandon(status?: number): Promise<void>;
}

/**
 * What to do with a request that carries a key:
 * `run`: do the work with `call.idempotencyKey = run.rowId`, and `call.boundIds` where something that a first call made stands already; `part` is
 * what an earlier run kept;
 * `await`: do the work with `call.boundIds` set: it waits for what those name, creates nothing and keeps nothing;
 * `replay`, `join`: send that answer with `Idempotent-Replayed: true`.
 */
export type IdempotencyOutcome =
  | { kind: 'run'; run: IdempotentRun; boundIds: string[]; part: RecordedAnswer | null }
  | { kind: 'await'; boundIds: string[] }
  | { kind: 'replay'; answer: RecordedAnswer }
  | { kind: 'join'; answer: JoinedAnswer };

/** Idempotency keys of an organisation, for all POSTs (decisions 6). */
export interface IdempotencyService {
  /** Starts the hourly purge. */
  start(): void;
  /**
   * Call it after the request's slot of the key's window has been taken (`takeKeySlot`) and before any work.
   * @throws ApiError invalid_request (empty or over 255 characters), idempotency_mismatch (other body or path), quota_exceeded (a new key while the organisation's storage is full: what is charged could not be kept), conflict with retryAfter (in flight elsewhere, or a stream that cannot be joined)
   */
  begin(request: IdempotentRequest): Promise<IdempotencyOutcome>;
  /**
   * Whether an answer is one to keep: given after admission (success, or `call.admitted`), and no server fault.
   * `errorStatuses` are the `httpStatus` values of a GraphQL answer's errors.
   */
  keeps(call: CallContext, answer: { status: number; errorStatuses?: number[] }): boolean;
  close(): Promise<void>;
}
