import type { IncomingMessage } from 'node:http';
import { isClientToken } from '../../access/index.js';
import { observed } from './observed-request.js';

const NAME = 'access_token';

/**
 * Takes `access_token` out of a request's URL before anything else reads the URL, so that no log, span or error holds it (beyond 14.1). Which
 * requests may show it so is decided later.
 */
export function takeAccessToken(request: IncomingMessage): void {
  const { url = '' } = request;
  const mark = url.indexOf('?');
  if (mark < 0 || !mayHold(url)) return;
  const kept: string[] = [];
  const found: string[] = [];
  for (const pair of url.slice(mark + 1).split('&')) {
    const [name, ...rest] = pair.split('=');
    if (decoded(name ?? '') === NAME) found.push(decoded(rest.join('=')));
    else kept.push(pair);
  }
  if (found.length === 0) return;
  request.url = url.slice(0, mark) + (kept.length === 0 ? '' : `?${kept.join('&')}`);
  // Two are nobody's.
  observed(request).accessToken = found.length === 1 ? (found[0] ?? '') : '';
}

/** Almost no URL does; its name may be escaped. */
const mayHold = (url: string): boolean => url.includes(NAME) || url.includes('%');

/** What cannot be decoded stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/**
 * The `Authorization` of a request that may show a client token in its query. A key there is refused, and so is a token beside another
 * credential.
 */
export function withAccessToken(
  request: IncomingMessage,
  authorization: string | string[] | undefined,
): string | string[] | undefined {
  const { accessToken } = observed(request);
  if (accessToken === null) return authorization;
  const shown = isClientToken(accessToken) ? `Bearer ${accessToken}` : '';
  return authorization === undefined || authorization === shown ? shown : [String(authorization), shown];
}

/** The same of a WebSocket's upgrade. Two credentials contradict each other: no valid one is made of them. */
export function upgradeCredential(request: IncomingMessage): string | undefined {
  const credential = withAccessToken(request, request.headers.authorization);
  return Array.isArray(credential) ? '' : credential;
}
