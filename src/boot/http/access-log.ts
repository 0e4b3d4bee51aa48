import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { observed } from './observed-request.js';

/** One line for each request: who, what, how long; never a key, a query or a body. */
export interface AccessLog {
  watch(request: IncomingMessage, response: ServerResponse): void;
}

export function createAccessLog(logger: Logger): AccessLog {
  const write = (request: IncomingMessage, response: ServerResponse, startedAt: number) => {
    const { call, requestId } = observed(request);
    logger.info(
      {
        requestId,
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
  };
}

/** What callers put into a path by mistake: their key, a webhook's secret. */
const SECRETS = /\b(sk|whsec)_[0-9a-f]{8,}/gi;

/** A query can hold a signature, and a path what a stranger put there. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  const path = (end < 0 ? url : url.slice(0, end)).slice(0, 200);
  return mayHoldSecret(path) ? path.replace(SECRETS, '$1_[removed]') : path;
}

/** Whether a secret's prefix may end somewhere: nearly no path has one, and the pattern looks at every character. */
function mayHoldSecret(path: string): boolean {
  for (let at = path.indexOf('_'); at !== -1; at = path.indexOf('_', at + 1))
    if ('kKcC'.includes(path.charAt(at - 1))) return true;
  return false;
}
