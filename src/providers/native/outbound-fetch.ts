import { fetch as undiciFetch } from 'undici';
import { withoutEnding } from '../../text/characters.js';
import { createOperatorAgent } from '../../egress/index.js';
import type { Egress } from '../../egress/index.js';
import { currentTraceparent } from '../../telemetry/index.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { NativeProvider } from './native-provider.types.js';

/** The size limits of answers: text or JSON, errors, and all others (videos are the largest). */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MAX_FAULT_BYTES = 64 * 1024;
const MAX_DOWNLOAD_BYTES = 256 * 1024 * 1024;
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** The connections of one upstream, for the `fetch` of a provider package. */
export interface OutboundFetch {
  fetch: typeof globalThis.fetch;
  /** Runs work of several requests: a retired upstream keeps its connections until the work is done. */
  during<T>(work: () => PromiseLike<T>): Promise<T>;
  /** Closes the connections; open requests fail. */
  close(): Promise<void>;
  /** Closes the connections after open requests and work have ended. */
  retire(): Promise<void>;
}

interface FetchOptions {
  upstream: UpstreamSettings;
  /** For downloads of files whose URLs have another host; absent: such a URL is an error. */
  egress: Egress | undefined;
  /**
   * The provider's definition; null: none. If the operator configures another address, requests to addresses built into its package are sent to
   * that address.
   */
  native: NativeProvider | null;
  /** The key's header. Packages send the key only to the address that they know. */
  headers?: Readonly<Record<string, string>>;
}

function addressOf(input: Parameters<typeof globalThis.fetch>[0]): URL {
  return new URL(typeof input === 'string' ? input : input instanceof URL ? input.href : input.url);
}

/**
 * Requests to the configured address use the upstream's own connections. Any other host that an answer names is not trusted: it is read through
 * the egress guard, like a caller's URL, without the key's headers.
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
    // Redirects are not followed; a caller that wants to follow one does so itself.
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

/** The provider's usual address if the operator has configured another; else null. */
function replacedAddress(native: NativeProvider | null, { baseUrl }: UpstreamSettings): string | null {
  const usual = native?.baseUrl({}) ?? null;
  return usual === baseUrl ? null : usual;
}

/** Rewrites a request for the provider's usual address to the configured one: the usual path prefix is replaced by the configured one. */
function moveTo(base: URL, url: URL, usual: string): void {
  const path = withoutEnding(new URL(usual).pathname, '/');
  const below = url.pathname.startsWith(`${path}/`) ? url.pathname.slice(path.length) : url.pathname;
  url.protocol = base.protocol;
  url.host = base.host;
  url.port = base.port;
  url.pathname = withoutEnding(base.pathname, '/') + below;
}

/** Limits the size of an answer: an error's body is cut off, any other answer fails. */
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

/** undici's fetch does not know the FormData class of Node, so a form is converted to bytes. */
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
