import type { IncomingMessage } from 'node:http';
import type { SessionCredential } from '../access/index.js';
import { ApiError } from '../contract/errors.js';

const MAX_COOKIES_LENGTH = 8192;
const ORGANIZATION = /^org_[\w-]{1,60}$/;

/** How a browser keeps its session (decisions 5): the cookie, and from which pages it counts. */
export interface BrowserSessions {
  /**
   * The session that a request brings, if it brings one.
   * @throws ApiError forbidden where the page that sends it is of another origin
   */
  read(request: IncomingMessage): SessionCredential | undefined;
  /** The cookie's text, from whichever page it comes. */
  token(request: IncomingMessage): string | undefined;
  /** Whether a page of PUBLIC_URL's own origin sent this, as far as the request tells (beyond 14.2). */
  trusts(request: IncomingMessage): boolean;
  /** `Set-Cookie` for a new session. */
  keep(token: string): string;
  /** `Set-Cookie` that ends it. */
  forget(): string;
  /** `Set-Cookie` and value of another cookie of signing in, for one path. */
  scratch: {
    keep(value: string): string;
    read(request: IncomingMessage): string | undefined;
    forget(): string;
  };
}

export interface BrowserSessionOptions {
  publicUrl: string;
  /** Seconds. */
  lifetime: number;
}

/** A name of another organisation's shape is none of the person's. */
export const organizationOf = (name: string | undefined): string | null =>
  name === undefined || name === '' ? null : ORGANIZATION.test(name) ? name : '-';

function cookieOf({ headers: { cookie } }: IncomingMessage, name: string): string | undefined {
  if (cookie === undefined || cookie.length > MAX_COOKIES_LENGTH) return undefined;
  for (const pair of cookie.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/** Where a request names no origin. Not told: by no browser, or by one that came by plain http. */
const OWN_SITES = new Set<string | string[] | undefined>([undefined, 'same-origin']);
const SCRATCH_SECONDS = 600;

export function createBrowserSessions(options: BrowserSessionOptions): BrowserSessions {
  const own = new URL(options.publicUrl);
  const isSecure = own.protocol === 'https:';
  const name = isSecure ? '__Host-penstock_session' : 'penstock_session';
  const scratchName = isSecure ? '__Host-penstock_oidc' : 'penstock_oidc';
  const set = (cookie: string, value: string, seconds: number): string =>
    [`${cookie}=${value}`, 'Path=/', `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax']
      .concat(isSecure ? ['Secure'] : [])
      .join('; ');
  const token = (request: IncomingMessage) => cookieOf(request, name);
  const trusts = ({ headers }: IncomingMessage): boolean => {
    const { origin } = headers;
    return origin === undefined ? OWN_SITES.has(headers['sec-fetch-site']) : origin === own.origin;
  };
  return {
    read(request) {
      const value = token(request);
      if (value === undefined) return undefined;
      if (!trusts(request)) throw new ApiError('forbidden', 'Origin not allowed');
      const requested = request.headers['x-organization'];
      return { token: value, orgId: organizationOf(Array.isArray(requested) ? requested.join() : requested) };
    },
    token,
    trusts,
    keep: (value) => set(name, value, options.lifetime),
    forget: () => set(name, '', 0),
    scratch: {
      keep: (value) => set(scratchName, value, SCRATCH_SECONDS),
      read: (request) => cookieOf(request, scratchName),
      forget: () => set(scratchName, '', 0),
    },
  };
}
