import type { Principal } from '../access/access.types.js';
import type { Demand } from '../access/index.js';
import type { LightAbortSignal } from '../collections/light-abort-signal.js';
import type { ClientInfo, Dialect } from '../contract/words.js';
import type { RateState } from './metering.types.js';

/** An answer that was made and is charged as `operationId`, from before that charge on. */
export interface MadeAnswer {
  operationId: string;
  /** Plain JSON. */
  value: unknown;
}

/**
 * Answers of a call with an Idempotency-Key between their making and the keeping of the whole: should the process die there, a retry gives
 * the answer that was charged. `input` is what the answer was made of, any plain JSON: a document can ask for several.
 */
export interface MadeAnswers {
  /** What an earlier request with the key left for the same input, once; null: nothing. */
  take(input: unknown): Promise<MadeAnswer | null>;
  /**
   * Before the charge. A copy that cannot be kept is no fault: the answer is worth more.
   * @throws ApiError conflict where another process took the key over, for which this one was away too long: what was made must be neither
   * charged nor shown
   */
  keep(input: unknown, answer: MadeAnswer): Promise<void>;
}

/** One authenticated request (or one WebSocket operation) on its way through the engine, whichever face it came by. */
export interface CallContext {
  principal: Principal;
  requestId: string;
  client: ClientInfo;
  /** Fires when the caller has gone. */
  signal: AbortSignal;
  /** Tells the same for less, where the call's face has it. */
  gone?: LightAbortSignal;
  /** True until the request's slot of the key's window has been taken; admission takes it and sets this to false. */
  keyWindowOpen: boolean;
  /** When that slot was taken ahead of the call's other checks, by the database's clock, in microseconds: to give it back by. */
  keySlotAt?: number;
  /** The window that the X-RateLimit-* headers report: the one with the smaller share left of those looked at so far. */
  rate: RateState | null;
  /** The request's Idempotency-Key row, bound to what the call makes: a job, a run, an agent … (decisions 6). */
  idempotencyKey: string | null;
  /**
   * Set once an operation of this call was admitted (reserved), or a mutation's field was done: from then on its answer, a refusal too, is
   * one that a retry gets again.
   */
  admitted?: boolean;
  /**
   * What an earlier request with the same Idempotency-Key made: jobs, mostly. A generation takes the first job off the list, waits for it
   * and answers with it, without admission and without a new job; runs, agents and the like are found again the same way.
   */
  boundIds?: string[];
  /** A call at /v1 came in this form: what it leaves out has other defaults than at /api/v1, and it may ask for more (beyond 11.6, 11.10). */
  dialect?: Dialect;
  /** Set with `idempotencyKey`. */
  madeAnswers?: MadeAnswers;
  /** Headers that its answer has besides, over HTTP. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** What this call was checked for: a replay of its answer needs it too. The guards add to it. */
  demands?: readonly Demand[];
}
