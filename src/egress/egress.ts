import { errors } from 'undici';
import { LRUCache } from 'lru-cache';
import type { Agent } from 'undici';
import { invalid } from '../contract/errors.js';
import { createAddressPolicy } from './addresses.js';
import { BoundedExchange, flattenHeaders } from './bounded-exchange.js';
import type { BoundedOptions } from './bounded-exchange.js';
import { EgressError } from './egress.types.js';
import type { Egress, OutboundAnswer, OutboundRequest, OutboundStream } from './egress.types.js';
import { createGuardedAgent, createGuardedLookup } from './guarded-agent.js';
import type { NameResolver } from './names.js';
import { OwnConnections } from './own-connections.js';
import { parseOutboundUrl } from './url-form.js';

/** How many addresses are remembered with the result of their check, and the maximum length of one. */
const REMEMBERED = 1000;
/** Shared connections to one origin. */
const CONNECTIONS = 32;
/** A caller that waits longer than this for a shared connection gets one of its own, so that slow answers to others do not use up its time. */
const ALTERNATIVE_AFTER_MS = 100;
const DEFAULT_HEADERS_TIMEOUT_MS = 10_000;
const DEFAULT_TOTAL_TIMEOUT_MS = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that a redirect to another origin must not get. */
const SECRET_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization']);

export interface EgressOptions {
  config: { egress: { allow: readonly string[] } };
  /** In place of the system's name resolution (tests). */
  resolve?: NameResolver;
}

/** The guarded way out: every hop is checked by form, by literal address and again when its name has been resolved. */
export function createEgress({ config, resolve }: EgressOptions): Egress {
  const policy = createAddressPolicy(config.egress.allow);
  const lookup = createGuardedLookup(policy, resolve);
  const shared = createGuardedAgent(policy, lookup, CONNECTIONS);
  const own = createGuardedAgent(policy, lookup, null);
  const exchangeWhole = createExchange(shared, own);
  const parse = (value: string, httpsOnly = false) => parseOutboundUrl(value, policy, { httpsOnly });
  // Webhooks call the same addresses again and again; what is refused is judged each time.
  const seen = new LRUCache<string, URL>({ max: REMEMBERED });
  const parseAgain = (value: string, httpsOnly = false): URL | null => {
    const name = httpsOnly ? value : `any ${value}`;
    const known = seen.get(name);
    if (known !== undefined) return known;
    const url = parse(value, httpsOnly);
    if (url !== null && value.length < REMEMBERED) seen.set(name, url);
    return url;
  };
  const exchange = async (value: string, options: OpenOptions): Promise<OutboundStream> =>
    await followRedirects({
      parse,
      value,
      options,
      send: (url, sent) => send(own, url, sent),
      discard: (answer) => void answer.body.destroy(),
    });

  return {
    checkUrl(value, options = {}) {
      const url = parse(value, options.httpsOnly);
      if (url === null) throw invalid('Invalid URL', options.field);
      return url;
    },
    async open(url, options) {
      return await exchange(url, options);
    },
    async request(url, options) {
      const deadline = performance.now() + (options.totalTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS);
      if (!options.maxRedirects) {
        const target = parseAgain(url, options.httpsOnly);
        if (target === null) throw notAllowed();
        return exchangeWhole(target, options, deadline);
      }
      const dispatch = (target: URL, sent: OpenOptions) =>
        exchangeWhole(target, { ...options, ...sent }, deadline);
      return await followRedirects({
        parse: parseAgain,
        value: url,
        options,
        send: dispatch,
        discard: () => undefined,
      });
    },
    async close() {
      await Promise.all([shared.destroy(), own.destroy()]);
    },
  };
}

const notAllowed = (): EgressError => new EgressError('forbidden', 'The URL is not allowed');

type OpenOptions = Omit<OutboundRequest, 'maxBytes' | 'onLimit'>;

interface Exchange<Answer> {
  parse(value: string, httpsOnly?: boolean): URL | null;
  value: string;
  options: OpenOptions;
  send(url: URL, options: OpenOptions): Promise<Answer>;
  /** Lets go of an answer that is not the last. */
  discard(answer: Answer): void;
}

const followsTo = (options: OpenOptions, status: number, headers: Record<string, string>): string | null =>
  (options.maxRedirects ?? 0) > 0 && REDIRECTS.has(status) ? (headers['location'] ?? null) : null;

async function followRedirects<Answer extends { status: number; headers: Record<string, string> }>({
  parse,
  value,
  options,
  send: exchange,
  discard,
}: Exchange<Answer>): Promise<Answer> {
  let target = value;
  let headers = options.headers ?? {};
  for (let hop = 0; ; hop++) {
    const url = parse(target, options.httpsOnly);
    if (url === null) throw notAllowed();
    const answer = await exchange(url, { ...options, headers });
    const location = followsTo(options, answer.status, answer.headers);
    if (location === null) return answer;
    discard(answer);
    if (hop >= (options.maxRedirects ?? 0)) throw new EgressError('redirect', 'Too many redirects');
    if (!URL.canParse(location, url.href)) throw new EgressError('redirect', 'The redirect is not a URL');
    // A relative target takes the checked host; an absolute one is judged as it is written.
    target = /^[a-z][a-z0-9+.-]*:/i.test(location) ? location : new URL(location, url).href;
    if (new URL(target).origin !== url.origin) headers = withoutSecrets(headers);
  }
}

/** Exchanges whose answers are read whole, within their limits. */
function createExchange(
  shared: Agent,
  own: Agent,
): (url: URL, options: OutboundRequest, deadline: number) => Promise<OutboundAnswer> {
  const inFlight = new Map<string, number>();
  const alone = new OwnConnections();
  const count = (origin: string, by: 1 | -1): number => {
    const now = (inFlight.get(origin) ?? 0) + by;
    if (now > 0) inFlight.set(origin, now);
    else inFlight.delete(origin);
    return now;
  };
  return (url, options, deadline) =>
    new Promise((resolve, reject) => {
      const { origin } = namesOf(url);
      // Before the handler, which ends at once where its caller has gone.
      const isCrowded = count(origin, 1) > CONNECTIONS;
      const handler = new BoundedExchange(boundsOf(url, options, deadline), {
        resolve(answer) {
          count(origin, -1);
          resolve(answer);
        },
        reject(error) {
          count(origin, -1);
          reject(toEgressError(error, options.signal));
        },
      });
      // Its time limits are the handler's own.
      const request = requestOf(url, options, OWN_LIMITS);
      const dispatchAlone = (): void => void own.dispatch(request, handler);
      if (isCrowded)
        handler.otherwiseAfter(ALTERNATIVE_AFTER_MS, () => alone.make(origin, handler, dispatchAlone));
      shared.dispatch(request, handler);
    });
}

const always = (): boolean => true;

function boundsOf(url: URL, options: OutboundRequest, deadline: number): BoundedOptions {
  return {
    url: namesOf(url).href,
    deadline,
    signal: options.signal,
    maxBytes: options.maxBytes,
    cut: options.onLimit === 'cut',
    headersTimeoutMs: options.headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS,
    bodyTimeoutMs: options.bodyTimeoutMs ?? Infinity,
    wantsBody: options.maxRedirects
      ? (status, headers) => followsTo(options, status, flattenHeaders(headers)) === null
      : always,
  };
}

interface Names {
  origin: string;
  path: string;
  href: string;
}

const names = new WeakMap<URL, Names>();

/** A URL's parts are computed each time that they are read. */
function namesOf(url: URL): Names {
  let known = names.get(url);
  if (known === undefined) {
    known = { origin: url.origin, path: `${url.pathname}${url.search}`, href: url.href };
    names.set(url, known);
  }
  return known;
}

interface Limits {
  headersTimeout: number;
  bodyTimeout: number;
}

const OWN_LIMITS: Limits = { headersTimeout: 0, bodyTimeout: 0 };

function requestOf(url: URL, options: OpenOptions, { headersTimeout, bodyTimeout }: Limits) {
  const { origin, path } = namesOf(url);
  return {
    origin,
    path,
    method: options.method ?? 'GET',
    headers: headersOf(options.headers),
    body: options.body ?? null,
    headersTimeout,
    bodyTimeout,
  } as const;
}

/** Names and values in turn, as undici takes them with the least work. */
function headersOf(given: Record<string, string> = {}): string[] {
  const flat: string[] = [];
  if (given['accept-encoding'] === undefined) flat.push('accept-encoding', 'identity');
  if (given['user-agent'] === undefined) flat.push('user-agent', 'Penstock');
  for (const name of Object.keys(given)) flat.push(name, given[name] ?? '');
  return flat;
}

function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !SECRET_HEADERS.has(name.toLowerCase())),
  );
}

async function send(agent: Agent, url: URL, options: OpenOptions): Promise<OutboundStream> {
  try {
    const limits = {
      headersTimeout: options.headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS,
      bodyTimeout: options.bodyTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS,
    };
    const answer = await agent.request({
      ...requestOf(url, options, limits),
      signal: options.signal ?? null,
    });
    // A reader sees the fault as it reads; a body that is given up before that must not end the process.
    answer.body.on('error', () => undefined);
    return {
      status: answer.statusCode,
      headers: flattenHeaders(answer.headers),
      body: answer.body,
      url: url.href,
    };
  } catch (error) {
    throw toEgressError(error, options.signal);
  }
}

function toEgressError(error: unknown, signal: AbortSignal | undefined): EgressError {
  if (error instanceof EgressError) return error;
  if (signal?.aborted === true) {
    const timedOut = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
    return new EgressError(timedOut ? 'timeout' : 'aborted', timedOut ? 'Timed out' : 'Aborted', error);
  }
  if (
    error instanceof errors.ConnectTimeoutError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError
  )
    return new EgressError('timeout', 'Timed out', error);
  const code = error instanceof Error && 'code' in error ? String(error.code ?? 'failed') : 'failed';
  return new EgressError('connect', `Connection failed (${code})`, error);
}
