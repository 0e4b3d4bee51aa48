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
const SECRETS = /(sk|whsec)_[0-9a-f]{8,}/gi;
/** A key's prefix may stand behind what is no ASCII, or was escaped twice: its digits show it. */
const LONG_HEX = /[0-9a-f]{32,}/gi;
const ESCAPED_ASCII = /%([0-7][0-9a-f])/gi;
const MAX_LENGTH = 200;

/** A query can hold a signature, and a path what a stranger put there. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  // Before it is cut, which may go through the middle of an escape.
  if (path.includes('%')) return withoutEscapedSecrets(path).slice(0, MAX_LENGTH);
  const start = path.slice(0, MAX_LENGTH);
  return mayHoldSecret(start) ? start.replace(SECRETS, '$1_[removed]') : start;
}

/** As it came where it holds none. Secrets are ASCII: what is escaped beside it need not make sense, so that no path fails to be decoded. */
function withoutEscapedSecrets(path: string): string {
  const decoded = path.replace(ESCAPED_ASCII, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const clean = decoded.replace(SECRETS, '$1_[removed]');
  const cleaner = clean.includes('%') ? clean.replace(LONG_HEX, '[removed]') : clean;
  return cleaner === decoded ? path : cleaner;
}

/** Whether a secret's prefix may end somewhere: nearly no path has one, and the pattern looks at every character. */
function mayHoldSecret(path: string): boolean {
  for (let at = path.indexOf('_'); at !== -1; at = path.indexOf('_', at + 1))
    if ('kKcC'.includes(path.charAt(at - 1))) return true;
  return false;
}
