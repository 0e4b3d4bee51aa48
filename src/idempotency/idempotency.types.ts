import type { CallContext, UnchargedAnswers } from '../metering/call-context.js';

/** The properties by which two requests are compared (decisions 6, "Beyond the contract"). */
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
   * True if the request is exactly one generation (REST): a retry may then wait for the bound job while the first call still runs. False for
   * GraphQL, where a document can have several effects: a retry gets 409 as long as the first call's process lives.
   */
  singleEffect: boolean;
  /**
   * True if other requests may have the same key (a GraphQL router sends one caller's header with every fetch): each is a separate call, and none
   * is a mismatch.
   */
  sharesKey?: boolean;
}

/** A call that creates something once: a retry with its Idempotency-Key gets what was created. */
export type KeyedCall = Pick<CallContext, 'principal' | 'idempotencyKey' | 'boundIds'>;

/** An answer as it was first given. */
export interface RecordedAnswer {
  status: number;
  /** Lower-case names; at least content-type. Without rate limit and request id headers, which belong to each request. */
  headers: Record<string, string>;
  body: Buffer;
}

/** An answer that this process is sending now: first what was sent so far, then the rest as it arrives. */
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
  /** Sent to a joined client in place of the rest, if the answer grows over the size limit. */
  lost: string;
}

/** Receives a copy of a streamed answer while it is sent. */
export interface AnswerRecorder {
  /** @returns whether the copy is stored for clients that join */
  write(chunk: string): boolean;
}

/** The part of an answer that was done when the rest failed, so that a retry does not repeat it. */
export interface AnswerPart {
  body: Buffer;
  headers: Record<string, string>;
  /** Jobs that still run: a retry waits for them. */
  jobs: string[];
}

/** The exclusive right to do the work of one key. Exactly one of `finish`, `keepPart` and `abandon` must be called. */
export interface IdempotentRun {
  /** For `call.idempotencyKey`: the row that the call's job is bound to. */
  rowId: string;
  /** For `call.unchargedAnswers`. */
  unchargedAnswers: UnchargedAnswers;
  /** Lets retries join a streamed answer. `finish` without a body then stores the recorded bytes. */
  record(head: RecordedHead): AnswerRecorder;
  /** Stores the answer for 24 h. A body over the size limit is not stored (a retry then waits for the job, or gets 409). */
  finish(answer: { status: number; headers: Record<string, string>; body?: Buffer }): Promise<void>;
  /**
   * Stores what is done so far, for the request that takes the key over if this process dies. Never rejects. May be called repeatedly before the
   * end.
   */
  notePart(part: AnswerPart): Promise<void>;
  /** Instead of `abandon`: the next request with the key runs again and gets this part. */
  keepPart(part: AnswerPart): Promise<void>;
  /**
   * Forgets the key: the next request with it runs again. After a 503 (still processing, draining) the key keeps its jobs, so that the next
   * request waits for them.
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
   * Whether an answer is stored: it was given after admission (success, or `call.admitted`) and is not a server fault. `errorStatuses` are the
   * `httpStatus` values of a GraphQL answer's errors.
   */
  keeps(call: CallContext, answer: { status: number; errorStatuses?: number[] }): boolean;
  close(): Promise<void>;
}
