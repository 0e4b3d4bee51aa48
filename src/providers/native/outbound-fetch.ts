import { fetch as undiciFetch } from 'undici';
import { withoutEnding } from '../../text/characters.js';
import { createOperatorAgent } from '../../egress/index.js';
import type { Egress } from '../../egress/index.js';
import { currentTraceparent } from '../../telemetry/index.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { NativeProvider } from './native-provider.types.js';

/** What is read of an answer in words or JSON, of one that is a fault, and of any other: videos are the largest. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MAX_FAULT_BYTES = 64 * 1024;
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
  /**
   * What is known of its provider; null: nothing. Where the operator names another address than its usual one, requests to origins that its
   * package has built in go to that one instead, below its path.
   */
  native: NativeProvider | null;
  /** The key, which packages give to the address alone that they know. */
  headers?: Readonly<Record<string, string>>;
}

function addressOf(input: Parameters<typeof globalThis.fetch>[0]): URL {
  return new URL(typeof input === 'string' ? input : input instanceof URL ? input.href : input.url);
}

/**
 * The operator's own address is reached over the operator's agent; any other host that an answer names is a stranger's, read as a caller's
 * URL would be, without the headers that carry the key.
 */
export function createOutboundFetch({
  upstream,
  egress,
  native,
  headers: own = {},
}: FetchOptions): OutboundFetch {
  const { connectMs, firstByteMs, chunkMs } = upstream.timeouts;
  const dispatcher = createOperatorAgent({
    connectTimeoutMs: connectMs,
    headersTimeoutMs: firstByteMs,
    bodyTimeoutMs: chunkMs,
  });
  const base = new URL(upstream.baseUrl);
  const usual = replacedAddress(native, upstream);
  const builtIn = native?.package?.builtIn ?? [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = addressOf(input);
    if (url.origin !== base.origin && !builtIn.includes(url.origin))
      return await download(url, egress, init?.signal ?? undefined);
    const headers = new Headers(init?.headers);
    if (usual !== null && url.origin !== base.origin) {
      moveTo(base, url, usual);
      for (const [name, value] of Object.entries(own)) if (!headers.has(name)) headers.set(name, value);
    }
    const traceparent = currentTraceparent();
    if (traceparent !== null) headers.set('traceparent', traceparent);
    const body = await bytesOf(init?.body, headers);
    // Who wants to follow a redirect does so itself.
    const request = { ...init, body, headers, redirect: 'manual', dispatcher } as unknown;
    const answer = await undiciFetch(url, request as Parameters<typeof undiciFetch>[1]);
    return bounded(answer as unknown as Response);
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

/** The maker's own address where the operator names another; null where an upstream is at that one, and at its other hosts too. */
function replacedAddress(native: NativeProvider | null, { baseUrl }: UpstreamSettings): string | null {
  const usual = native?.baseUrl({}) ?? null;
  return usual === baseUrl ? null : usual;
}

/** Brings a request for a maker's host to the address that stands for it: what follows the path of the one follows that of the other. */
function moveTo(base: URL, url: URL, usual: string): void {
  const path = withoutEnding(new URL(usual).pathname, '/');
  const below = url.pathname.startsWith(`${path}/`) ? url.pathname.slice(path.length) : url.pathname;
  url.protocol = base.protocol;
  url.host = base.host;
  url.port = base.port;
  url.pathname = withoutEnding(base.pathname, '/') + below;
}

/** An answer of which no more is read than can be held: a fault is cut off there, any other fails. */
function bounded(answer: Response): Response {
  const { body, status, statusText, headers } = answer;
  if (body === null) return answer;
  const isText = /json|text|event-?stream/.test(headers.get('content-type') ?? '');
  let left = !answer.ok ? MAX_FAULT_BYTES : isText ? MAX_TEXT_BYTES : MAX_DOWNLOAD_BYTES;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.length;
      if (left >= 0) controller.enqueue(chunk);
      else if (answer.ok) controller.error(brokenAnswer('more than can be read'));
      else controller.terminate();
    },
  });
  return new Response(body.pipeThrough(counter), { status, statusText, headers: [...headers] });
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
