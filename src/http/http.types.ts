import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AnswerPart, IdempotencyService } from '../idempotency/idempotency.types.js';
import type { TimeSlicer } from '../collections/time-slicer.js';
import type { CallContext } from '../metering/call-context.js';
import type { RateState } from '../metering/metering.types.js';
import type { BodyRules } from './body.js';
import type { RequestBody } from './request-body.js';

/**
 * Reads a caller's key from the place where an API expects it, and returns it as the value of an `Authorization` header. Returns a list of two
 * values if the credentials contradict each other; such a list is always refused.
 */
export type KeyReader = (request: IncomingMessage) => string | string[] | undefined;

/** Where a caller may show who it is. */
export interface AcceptedCredentials {
  /**
   * `keys` (default): a key in `Authorization`; `sessions`: also a signed-in browser's cookie, if there is no `Authorization` header (GraphQL
   * only); or a function that reads the key from another place.
   */
  from?: 'keys' | 'sessions' | KeyReader | undefined;
  /** Whether it is a GET whose answer is an event stream: it may show a client token in its query (beyond 14.1). Default false. */
  isEventStream?: boolean;
}

/** What REST and GraphQL over HTTP share before and around an operation. boot/ makes it; both APIs use it. */
export interface HttpEdge {
  /**
   * Step 1 of decisions 1: identifies the caller from the headers alone; synchronously where the key is cached. The call's signal fires when the
   * response closes before it has ended.
   * @throws ApiError unauthorized, or rate_limited where the client's address has sent too many bad keys; for a session also not_found and
   * forbidden
   */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    accepts?: AcceptedCredentials,
  ): Promise<CallContext> | CallContext;
  /** The request's body; `release` it when the request's work is over. From here on the caller's long work counts as its organisation's. */
  body(request: IncomingMessage, call: CallContext, rules?: BodyRules): RequestBody;
  /** The value of `X-Request-Id`. */
  requestId(request: IncomingMessage): string;
  /** Sets the headers that every answer has besides the rate limit: the request's id, and `X-Content-Type-Options`. */
  addCommonHeaders(response: ServerResponse): void;
  /** The rate window to report with an error of `open` (the address's window) or of an admission; null where the error has none. */
  rateOf(error: unknown): RateState | null;
  /** The rate window of the client's address, for pages that need no key. */
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
  /** Runs long work of the main thread in time slices. */
  timeSlicer: TimeSlicer;
}

/** A whole HTTP answer. */
export interface HttpAnswer {
  status: number;
  /** Lower-case names, without rate limit and request id headers. */
  headers: Record<string, string>;
  body: Buffer | string;
  /** The `httpStatus` of each error in a GraphQL answer. */
  errorStatuses?: number[];
  /** What a GraphQL document had already done when a field failed. */
  part?: AnswerPart;
}
