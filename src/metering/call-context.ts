import type { Principal } from '../access/access.types.js';
import type { AccessRequirement } from '../access/index.js';
import type { LightAbortSignal } from '../collections/light-abort-signal.js';
import type { ClientInfo, Dialect } from '../contract/words.js';
import type { RateState } from './metering.types.js';

/** An answer that is stored before its charge. `operationId` is the operation of the charge. */
export interface MadeAnswer {
  operationId: string;
  /** Plain JSON. */
  value: unknown;
}

/**
 * Stores answers of a call with an Idempotency-Key before they are charged. If the process dies after the charge, a retry returns the answer that
 * was charged. `input` identifies the answer (plain JSON), because one GraphQL document can ask for several.
 */
export interface MadeAnswers {
  /** The answer that an earlier request with the key has stored for the same input; each is returned once. Null: none. */
  take(input: unknown): Promise<MadeAnswer | null>;
  /**
   * Stores an answer before its charge. If it cannot be stored, the call goes on.
   * @throws ApiError conflict if another process has taken the key over, because this one was away too long: then the answer must be neither
   * charged nor shown
   */
  keep(input: unknown, answer: MadeAnswer): Promise<void>;
}

/** One authenticated request, or one WebSocket operation, whichever API it came by. */
export interface CallContext {
  principal: Principal;
  requestId: string;
  client: ClientInfo;
  /** The client's address as TRUST_PROXY has it. */
  address?(): string;
  /** Its header `X-Tags` (beyond 13.1). */
  tagsHeader?: string | undefined;
  /** The fields of a body at /v1 that say whom it is for, as they were sent: what the engine gets of the body may lack them. */
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
  /** Set with `idempotencyKey`. */
  madeAnswers?: MadeAnswers;
  /** Further headers of its answer, over HTTP. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** The access requirements that this call has met; the guards add them. A replay of its answer must meet them too. */
  accessRequirements?: readonly AccessRequirement[];
}
