import type { IncomingMessage } from 'node:http';

/** Headers that contain only a key. */
const KEY_HEADERS: ReadonlySet<string> = new Set(['x-api-key', 'api-key']);
const BEARER = /^bearer(?: +|$)/i;

/**
 * The key of a request at /v1, in one or several of `Authorization: Bearer`, `x-api-key` and `api-key` (beyond 11.2). Two
 * different keys are invalid. An empty header, which clients without a key send, does not count.
 */
export function readKey({ rawHeaders }: IncomingMessage): string | string[] | undefined {
  let found: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const value = credentialOf((rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? '');
    if (value === '' || value === found) continue;
    if (found !== undefined) return [found, value];
    found = value;
  }
  return found;
}

/** In the form of an `Authorization` header; '' for none. */
function credentialOf(name: string, value: string): string {
  const text = value.trim();
  if (KEY_HEADERS.has(name)) return text === '' ? '' : `Bearer ${text}`;
  if (name !== 'authorization') return '';
  if (!BEARER.test(text)) return text;
  const key = text.replace(BEARER, '');
  return key === '' ? '' : `Bearer ${key}`;
}
