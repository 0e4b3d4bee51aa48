import type { Principal } from '../access/access.types.js';
import type { AccessRequirement } from '../access/index.js';
import type { LightAbortSignal } from '../collections/light-abort-signal.js';
import type { ClientInfo, Dialect } from '../contract/words.js';
import type { LiveOptions } from '../contract/live.js';
import type { RateState } from './metering.types.js';

/** An answer that is stored before its charge. `operationId` is the operation of the charge. */
export interface UnchargedAnswer {
  operationId: string;
  /** Plain JSON. */
  value: unknown;
}

/**
 * Stores answers of a call with an Idempotency-Key before they are charged. If the process dies after the charge, a retry returns the answer that
 * was charged. `input` identifies the answer (plain JSON), because one GraphQL document can ask for several.
 */
export interface UnchargedAnswers {
  /** The answer that an earlier request with the key has stored for the same input; each is returned once. Null: none. */
  take(input: unknown): Promise<UnchargedAnswer | null>;
  /**
   * Stores an answer before its charge. If it cannot be stored, the call goes on.
   * @throws ApiError conflict if another process has taken the key over, because this one was away too long: then the answer must be neither
   * charged nor shown
   */
  keep(input: unknown, answer: UnchargedAnswer): Promise<void>;
}

/** The reader of a job's parts, which come before its complete result. */
export interface LiveReading {
  liveOptions: LiveOptions;
  /**
   * Called when the job exists.
   * @param parts in order; they end with the job, and throw if some parts were lost
   */
  opened(jobId: string, parts: AsyncIterable<Buffer>): void;
}

/** One authenticated request, or one WebSocket operation, whichever API it came by. */
export interface CallContext {
  principal: Principal;
  requestId: string;
  client: ClientInfo;
  /** The client's address, according to TRUST_PROXY. */
  address?(): string;
  /** The header `Last-Event-ID` of an event stream of GraphQL: it replaces the argument `after`. */
  lastEventId?: string;
  /** Its header `X-Tags` (beyond 13.1). */
  tagsHeader?: string | undefined;
  /** The attribution fields of a body at /v1, unchanged, because the engine's input may lack them. */
  sentFor?: { user: unknown; safety_identifier: unknown; metadata: unknown };
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
  /** A cheaper form of the same signal, if the API provides it. */
  gone?: LightAbortSignal;
  /** True until the request's slot of the key's window has been taken; admission takes it and sets this to false. */
  keyWindowOpen: boolean;
  /** When that slot was taken before the call's other checks, by the database's clock in microseconds. Needed to return the slot. */
  keySlotAt?: number;
  /** The window that the X-RateLimit-* headers report: of the windows checked so far, the one with the smallest share left. */
  rate: RateState | null;
  /** The row of the request's Idempotency-Key. Objects that the call creates (a job, a run, an agent …) are bound to it (decisions 6). */
  idempotencyKey: string | null;
  /**
   * Set once an operation of this call was admitted (reserved), or a mutation's field was done. From then on a retry gets the same answer again,
   * even if it is a refusal.
   */
  admitted?: boolean;
  /**
   * Ids of objects that an earlier request with the same Idempotency-Key created, mostly jobs. A generation takes the first job from the list,
   * waits for it and answers with it, without admission and without a new job. Runs, agents and other objects are found in the same way.
   */
  boundIds?: string[];
  /** The convention of a call at /v1: omitted parameters have other defaults than at /api/v1, and it may ask for more (beyond 11.6, 11.10). */
  dialect?: Dialect;
  /** Set if its caller reads the parts of the call's job. */
  live?: LiveReading;
  /** Set with `idempotencyKey`. */
  unchargedAnswers?: UnchargedAnswers;
  /** Further headers of its answer, over HTTP. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** The access requirements that this call has met; the guards add them. A replay of its answer must meet them too. */
  accessRequirements?: readonly AccessRequirement[];
}
