import { fetch as undiciFetch } from 'undici';
import { createOperatorAgent } from '../../egress/index.js';
import type { Egress } from '../../egress/index.js';
import { currentTraceparent } from '../../telemetry/index.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { KINDS } from './kinds.js';

/** Videos are the largest. */
const MAX_DOWNLOAD_BYTES = 256 * 1024 * 1024;
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** The connections of one upstream behind the `fetch` that a provider package calls. */
export interface OutboundFetch {
  fetch: typeof globalThis.fetch;
  /** Work of more than one request: a retired upstream keeps its connections until it is done. */
  during<T>(work: () => PromiseLike<T>): Promise<T>;
  /** Open requests fail. */
  close(): Promise<void>;
  /** Open requests and work end first. */
  retire(): Promise<void>;
}

interface FetchOptions {
  upstream: UpstreamSettings;
  /** For files that the upstream answers as URLs of another host; without it those are a fault. */
  egress: Egress | undefined;
  /** Origins that the package has built in; where the operator names another address, requests there go to that one instead, below its path. */
  builtIn: readonly string[];
}

function addressOf(input: Parameters<typeof globalThis.fetch>[0]): URL {
  return new URL(typeof input === 'string' ? input : input instanceof URL ? input.href : input.url);
}

/**
 * The operator's own address is reached over the operator's agent; any other host that an answer names is a stranger's, read as a caller's
 * URL would be, without the headers that carry the key.
 */
export function createOutboundFetch({ upstream, egress, builtIn }: FetchOptions): OutboundFetch {
  const { connectMs, firstByteMs, chunkMs } = upstream.timeouts;
  const dispatcher = createOperatorAgent({
    connectTimeoutMs: connectMs,
    headersTimeoutMs: firstByteMs,
    bodyTimeoutMs: chunkMs,
  });
  const base = new URL(upstream.baseUrl);
  const usual = isUsual(upstream);
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = addressOf(input);
    if (url.origin !== base.origin && !builtIn.includes(url.origin))
      return await download(url, egress, init?.signal ?? undefined);
    if (!usual && url.origin !== base.origin) {
      url.protocol = base.protocol;
      url.host = base.host;
      url.port = base.port;
      url.pathname = base.pathname.replace(/\/+$/, '') + url.pathname;
    }
    const headers = new Headers(init?.headers);
    const traceparent = currentTraceparent();
    if (traceparent !== null) headers.set('traceparent', traceparent);
    const body = await bytesOf(init?.body, headers);
    const redirect = init?.redirect === 'manual' ? 'manual' : 'error';
    const request = { ...init, body, headers, redirect, dispatcher } as unknown;
    const answer = await undiciFetch(url, request as Parameters<typeof undiciFetch>[1]);
    return answer as unknown as Response;
  };
  const open = new Set<Promise<unknown>>();
  return {
    fetch,
    async during(work) {
      const done = Promise.resolve(work());
      open.add(done);
      try {
        return await done;
      } finally {
        open.delete(done);
      }
    },
    close: () => dispatcher.destroy(),
    async retire() {
      await Promise.allSettled(open);
      await dispatcher.close();
    },
  };
}

/** Whether an upstream is at its maker's own address, where its other hosts are too. */
function isUsual({ kind, baseUrl }: UpstreamSettings): boolean {
  return kind !== 'openai-compatible' && KINDS[kind].baseUrl({}) === baseUrl;
}

/** Node's own FormData is a stranger to the dispatcher's fetch: a form goes as the bytes it stands for. */
async function bytesOf(body: RequestInit['body'], headers: Headers): Promise<unknown> {
  if (!(body instanceof FormData)) return body;
  const form = new Response(body);
  headers.set('content-type', form.headers.get('content-type') ?? 'multipart/form-data');
  return new Uint8Array(await form.arrayBuffer());
}

async function download(url: URL, egress: Egress | undefined, signal: AbortSignal | undefined) {
  if (egress === undefined) throw new TypeError('The upstream names another host');
  const answer = await egress.request(url.href, {
    maxBytes: MAX_DOWNLOAD_BYTES,
    maxRedirects: 3,
    totalTimeoutMs: DOWNLOAD_TIMEOUT_MS,
    ...(signal === undefined ? {} : { signal }),
  });
  return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers });
}
