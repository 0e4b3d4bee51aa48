import type { Readable } from 'node:stream';
import { errors } from 'undici';
import type { Agent, Dispatcher } from 'undici';
import { invalid } from '../errors.js';
import { createAddressPolicy } from './addresses.js';
import { EgressError } from './egress.types.js';
import type { Egress, OutboundAnswer, OutboundRequest, OutboundStream } from './egress.types.js';
import { createGuardedAgent, createGuardedLookup } from './guarded-agent.js';
import type { NameResolver } from './guarded-agent.js';
import { parseOutboundUrl } from './url-form.js';

const DEFAULT_HEADERS_TIMEOUT_MS = 10_000;
const DEFAULT_TOTAL_TIMEOUT_MS = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Never repeated to another origin than the one they were meant for. */
const SECRET_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization']);

export interface EgressOptions {
  config: { egress: { allow: readonly string[] } };
  /** In place of the system's name resolution (tests). */
  resolve?: NameResolver;
}

/** The guarded way out: every hop is checked by form, by literal address and again when its name has been resolved. */
export function createEgress({ config, resolve }: EgressOptions): Egress {
  const policy = createAddressPolicy(config.egress.allow);
  const agent = createGuardedAgent(policy, createGuardedLookup(policy, resolve));
  const parse = (value: string, httpsOnly = false) => parseOutboundUrl(value, policy, { httpsOnly });
  const exchange = async (value: string, options: OpenOptions): Promise<OutboundStream> =>
    await followRedirects({ agent, parse, value, options });

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
      const total = AbortSignal.timeout(options.totalTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS);
      const signal = options.signal === undefined ? total : AbortSignal.any([total, options.signal]);
      const answer = await exchange(url, { ...options, signal });
      return { ...answer, ...(await readLimited(answer.body, { ...options, signal })) };
    },
    async close() {
      await agent.destroy();
    },
  };
}

type OpenOptions = Omit<OutboundRequest, 'maxBytes' | 'onLimit'>;

interface Exchange {
  agent: Agent;
  parse(value: string, httpsOnly?: boolean): URL | null;
  value: string;
  options: OpenOptions;
}

async function followRedirects({ agent, parse, value, options }: Exchange): Promise<OutboundStream> {
  let target = value;
  let headers = options.headers ?? {};
  for (let hop = 0; ; hop++) {
    const url = parse(target, options.httpsOnly);
    if (url === null) throw new EgressError('forbidden', 'The URL is not allowed');
    const answer = await send(agent, url, { ...options, headers });
    const location = answer.headers['location'];
    const follows = (options.maxRedirects ?? 0) > 0 && REDIRECTS.has(answer.status) && location !== undefined;
    if (!follows) return answer;
    answer.body.destroy();
    if (hop >= (options.maxRedirects ?? 0)) throw new EgressError('redirect', 'Too many redirects');
    if (!URL.canParse(location, url.href)) throw new EgressError('redirect', 'The redirect is not a URL');
    // A relative target takes the checked host; an absolute one is judged as it is written.
    target = /^[a-z][a-z0-9+.-]*:/i.test(location) ? location : new URL(location, url).href;
    if (new URL(target).origin !== url.origin) headers = withoutSecrets(headers);
  }
}

function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !SECRET_HEADERS.has(name.toLowerCase())),
  );
}

async function send(agent: Agent, url: URL, options: OpenOptions): Promise<OutboundStream> {
  try {
    const answer = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: options.method ?? 'GET',
      headers: { 'accept-encoding': 'identity', 'user-agent': 'Penstock', ...options.headers },
      body: options.body ?? null,
      headersTimeout: options.headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS,
      bodyTimeout: options.bodyTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS,
      signal: options.signal ?? null,
    });
    // A reader sees the fault as it reads; a body that is given up before that must not end the process.
    answer.body.on('error', () => undefined);
    return { status: answer.statusCode, headers: flatten(answer), body: answer.body, url: url.href };
  } catch (error) {
    throw toEgressError(error, options.signal);
  }
}

function flatten(answer: Dispatcher.ResponseData): Record<string, string> {
  return Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Reads to the limit and no further. A cut or failed body's connection is destroyed, never reused. */
async function readLimited(
  body: Readable,
  options: OutboundRequest,
): Promise<Pick<OutboundAnswer, 'body' | 'truncated'>> {
  const chunks: Buffer[] = [];
  let size = 0;
  const deadline =
    options.bodyTimeoutMs === undefined
      ? undefined
      : setTimeout(
          () => body.destroy(new EgressError('timeout', 'The body took too long')),
          options.bodyTimeoutMs,
        );
  const cut = options.onLimit === 'cut';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size + chunk.length > options.maxBytes) {
        if (!cut) throw new EgressError('too_large', 'The body is too large');
        chunks.push(chunk.subarray(0, options.maxBytes - size));
        return { body: Buffer.concat(chunks), truncated: true };
      }
      chunks.push(chunk);
      size += chunk.length;
    }
    return { body: Buffer.concat(chunks), truncated: false };
  } catch (error) {
    if (cut) return { body: Buffer.concat(chunks), truncated: true };
    throw toEgressError(error, options.signal);
  } finally {
    clearTimeout(deadline);
    body.destroy();
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
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
  return new EgressError('connect', `Connection failed (${code})`, error);
}
