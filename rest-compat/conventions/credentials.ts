import type { IncomingMessage } from 'node:http';

/** Headers that hold a key alone. */
const KEY_HEADERS: ReadonlySet<string> = new Set(['x-api-key', 'api-key']);
const BEARER = /^bearer(?: +|$)/i;

/**
 * The one key that a request at /v1 shows, in `Authorization: Bearer`, `x-api-key` or `api-key`, as often as its client likes (beyond 11.2). Two
 * that differ are nobody's. What clients send where they were given no key (an empty header) is no credential.
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

/** As an `Authorization` header has it; '' for none. */
function credentialOf(name: string, value: string): string {
  const text = value.trim();
  if (KEY_HEADERS.has(name)) return text === '' ? '' : `Bearer ${text}`;
  if (name !== 'authorization') return '';
  if (!BEARER.test(text)) return text;
  const key = text.replace(BEARER, '');
  return key === '' ? '' : `Bearer ${key}`;
}
