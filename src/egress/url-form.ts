import { isIP } from 'node:net';
import { withoutEnding } from '../text/characters.js';
import type { AddressPolicy } from './addresses.js';

const MAX_LENGTH = 8192;
const AUTHORITY = /^(https?):\/\/([^/?#]*)/i;
/** Control characters, white space, backslashes and anything outside ASCII that a URL parser would quietly rewrite. */
const UNSAFE = /[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Cf}\\]/u;
const LOCAL_NAMES = new Set([
  'localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'ip6-loopback',
  'metadata.google.internal',
]);

function isLocalName(name: string): boolean {
  return LOCAL_NAMES.has(name) || name.endsWith('.localhost');
}

function hostOf(authority: string): string {
  const end = authority.startsWith('[') ? authority.indexOf(']') + 1 : authority.indexOf(':');
  return end > 0 ? authority.slice(0, end) : authority;
}

/**
 * Judges a URL's form and, where its host is a literal address, the address, before any connection is made.
 * A numeric host counts only in its plain form (`127.0.0.1`, never `127.1`, `0x7f000001`, `2130706433`, octal or full-width digits):
 * the parser would turn those into an address that the text does not show.
 *
 * @returns the parsed URL, or null where it is refused.
 */
export function parseOutboundUrl(
  value: string,
  policy: AddressPolicy,
  options: { httpsOnly?: boolean } = {},
): URL | null {
  const match = AUTHORITY.exec(value);
  if (match === null || value.length > MAX_LENGTH || UNSAFE.test(value) || !URL.canParse(value)) return null;
  const authority = match[2] ?? '';
  if (authority === '' || /[@%]/.test(authority)) return null;
  const url = new URL(value);
  if (url.username !== '' || url.password !== '' || url.hostname === '') return null;
  if (url.protocol !== 'https:' && (options.httpsOnly === true || url.protocol !== 'http:')) return null;
  return isHostAllowed(hostOf(authority), url.hostname, policy) ? url : null;
}

function isHostAllowed(written: string, parsed: string, policy: AddressPolicy): boolean {
  if (parsed.startsWith('[')) return policy.permits(parsed.slice(1, -1));
  if (isIP(parsed) === 4) return written === parsed && policy.permits(parsed);
  return !isLocalName(withoutEnding(parsed, '.').toLowerCase());
}
