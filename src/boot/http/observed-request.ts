import { IncomingMessage } from 'node:http';
import type { CallContext } from '../../metering/call-context.js';

/**
 * A request that knows what log, metrics and traces tell of it at its end. Fields of its own, and no weak maps beside it: each entry of
 * those costs a hash, a place in a table that grows, and the collector's time.
 */
export class ObservedRequest extends IncomingMessage {
  /** Of two of one server, that of the later one is higher. */
  order = 0;
  /** The path of the REST row that it was matched to. (`route` is Express's.) */
  pattern: string | null = null;
  /** What `X-Request-Id` tells. */
  requestId = '';
  /** Its caller, once known. */
  call: CallContext | null = null;
}

/** Every request of the process's server is one, also once Express has exchanged its prototype. */
export function observed(request: IncomingMessage): ObservedRequest {
  return request as ObservedRequest;
}
