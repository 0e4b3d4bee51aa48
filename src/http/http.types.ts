import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AnswerPart, IdempotencyService } from '../idempotency/idempotency.types.js';
import type { Turns } from '../collections/turns.js';
import type { CallContext } from '../metering/call-context.js';
import type { RateState } from '../metering/metering.types.js';
import type { BodyRules } from './body.js';
import type { RequestBody } from './request-body.js';

/**
 * Where an address takes a caller's key from: the value of an `Authorization` header that the request's credentials stand for; a list of two
 * where they contradict each other, which no key does.
 */
export type KeyReader = (request: IncomingMessage) => string | string[] | undefined;

/** What REST and GraphQL over HTTP have in common before and around an operation: made by boot, used by both faces. */
export interface HttpEdge {
  /**
   * Step 1 of decisions 1: who calls, from the headers alone; at once where the key is known. The call's signal fires when
   * the response closes before its end.
   * @param accepts `keys`: in `Authorization`; `sessions`: a signed-in browser's cookie as well, where there is none (GraphQL only); or what
   * reads a key elsewhere
   * @throws ApiError unauthorized, or rate_limited for the address of a stranger; of a session also not_found and forbidden
   */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    accepts?: 'keys' | 'sessions' | KeyReader,
  ): Promise<CallContext> | CallContext;
  /** The request's body; `release` it when the request's work is over. */
  body(request: IncomingMessage, call: CallContext, rules?: BodyRules): RequestBody;
  /** What `X-Request-Id` tells. */
  requestId(request: IncomingMessage): string;
  /** Sets what every answer carries besides its window: the request's id, and that its type is meant. */
  addCommonHeaders(response: ServerResponse): void;
  /** The window that a refusal of `open` (the address's) or of an admission reports; null where the error carries none. */
  rateOf(error: unknown): RateState | null;
  /** The window of a caller without a key, for what is public. */
  addressRate(request: Pick<IncomingMessage, 'headers'> & { socket: Duplex }): RateState;
  /** The key's window as it stands, without taking a slot: for refusals before step 4. */
  currentRate(call: CallContext): Promise<RateState>;
  /** Step 4 alone: takes the call's slot of its key's window, once. @throws ApiError rate_limited */
  takeSlot(call: CallContext): Promise<void>;
  /** Gives that slot back. */
  returnSlot(call: CallContext): Promise<void>;
  /** A fault that callers see as `Internal server error` only. */
  onFault(fault: unknown, requestId: string): void;
  idempotency: IdempotencyService;
  /** In which long work of the main thread is done. */
  turns: Turns;
}

/** A whole HTTP answer. */
export interface HttpAnswer {
  status: number;
  /** Lower-case names, without rate limit and request id headers. */
  headers: Record<string, string>;
  body: Buffer | string;
  /** `httpStatus` of each error of a GraphQL answer. */
  errorStatuses?: number[];
  /** What of a GraphQL document was done before a field failed. */
  part?: AnswerPart;
}
