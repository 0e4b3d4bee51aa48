import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { CallContext } from '../../metering/call-context.js';

/** One line for each request: who, what, how long; never a key, a query or a body. */
export interface AccessLog {
  watch(request: IncomingMessage, response: ServerResponse): void;
  /** The caller, once known. */
  name(response: ServerResponse, call: CallContext): void;
}

export function createAccessLog(logger: Logger): AccessLog {
  const calls = new WeakMap<ServerResponse, CallContext>();
  const write = (request: IncomingMessage, response: ServerResponse, startedAt: number) => {
    const call = calls.get(response);
    // A weak entry whose value leads back to its key outlives every minor collection, and takes the whole request along.
    calls.delete(response);
    logger.info(
      {
        requestId: call?.requestId ?? response.getHeader('x-request-id'),
        method: request.method,
        path: pathOf(request.url ?? ''),
        status: response.statusCode,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...(call ? { orgId: call.principal.orgId, keyId: call.principal.keyId } : {}),
        ...(response.writableFinished ? {} : { gone: true }),
      },
      'request',
    );
  };
  return {
    watch(request, response) {
      if (!logger.isLevelEnabled('info')) return;
      const startedAt = performance.now();
      response.on('close', () => write(request, response, startedAt));
    },
    name(response, call) {
      if (logger.isLevelEnabled('info')) calls.set(response, call);
    },
  };
}

/** What callers put into a path by mistake: their key, a webhook's secret. */
const SECRETS = /\b(sk|whsec)_[0-9a-f]{8,}/gi;

/** A query can hold a signature, and a path what a stranger put there. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return (end < 0 ? url : url.slice(0, end)).slice(0, 200).replace(SECRETS, '$1_[removed]');
}
