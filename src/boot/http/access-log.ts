import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../../access/access.types.js';
import { observed } from './observed-request.js';

/** One line for each request: who, what, how long; never a key, a query or a body. */
export interface AccessLog {
  watch(request: IncomingMessage, response: ServerResponse): void;
}

const callerOf = ({ orgId, keyId, token }: Principal) => ({
  orgId,
  keyId,
  ...(token === undefined ? {} : { clientTokenId: token.id }),
});

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
        ...(call ? callerOf(call.principal) : {}),
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

/** Secrets that callers put into a path by mistake: an API key, a client token, or a webhook's secret. */
const SECRETS = /(sk|whsec|ct)_[0-9a-f]{8,}/gi;
/** The prefix of a key may be hidden by a second escaping or by other characters before it; its hexadecimal digits still show it. */
const LONG_HEX = /[0-9a-f]{32,}/gi;
const ESCAPED_ASCII = /%([0-7][0-9a-f])/gi;
const MAX_LENGTH = 200;

/** The query is left out because it can hold a signature; the path is shortened because a caller can write anything into it. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  // Before the path is shortened, because the cut may fall into an escape.
  if (path.includes('%')) return withoutEscapedSecrets(path).slice(0, MAX_LENGTH);
  const start = path.slice(0, MAX_LENGTH);
  return mayHoldSecret(start) ? start.replace(SECRETS, '$1_[removed]') : start;
}

/** Returns the path unchanged if it holds no secret. Decodes only ASCII escapes, since secrets are ASCII; so decoding never fails. */
function withoutEscapedSecrets(path: string): string {
  const decoded = path.replace(ESCAPED_ASCII, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const clean = decoded.replace(SECRETS, '$1_[removed]');
  const cleaner = clean.includes('%') ? clean.replace(LONG_HEX, '[removed]') : clean;
  return cleaner === decoded ? path : cleaner;
}

/** A quick check for a secret's prefix: almost no path has one, and the regular expression reads every character. */
function mayHoldSecret(path: string): boolean {
  for (let at = path.indexOf('_'); at !== -1; at = path.indexOf('_', at + 1))
    if ('kKcCtT'.includes(path.charAt(at - 1))) return true;
  return false;
}
