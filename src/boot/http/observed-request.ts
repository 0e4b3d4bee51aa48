import { IncomingMessage } from 'node:http';
import type { CallContext } from '../../metering/call-context.js';

/**
 * A request with the fields that log, metrics and traces need at its end. They are properties and not WeakMap entries, which cost more CPU time
 * and work for the garbage collector.
 */
export class ObservedRequest extends IncomingMessage {
  /** Counts up: a later request of the same server has a higher number. */
  order = 0;
  /** The path pattern of the matched REST row. (The name `route` belongs to Express.) */
  pattern: string | null = null;
  /** The value of `X-Request-Id`. */
  requestId = '';
  /** What stood in its query as `access_token`; it was taken out of the URL. Null: none. */
  accessToken: string | null = null;
  /** Its caller, once known. */
  call: CallContext | null = null;
}

/** Every request of the server is an ObservedRequest, even after Express has replaced its prototype. */
export function observed(request: IncomingMessage): ObservedRequest {
  return request as ObservedRequest;
}
