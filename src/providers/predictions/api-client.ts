import type { OutboundFetch } from '../native/outbound-fetch.js';
import { upstreamErrorOf } from '../native/sdk-errors.js';
import { UpstreamError } from '../providers.types.js';
import {
  abortedError,
  brokenAnswer,
  errorOfStatus,
  unreadableFile,
} from '../openai-compatible/upstream-errors.js';

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The size limits of JSON answers and of files. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_HOPS = 3;
const BASE64_URL = /^data:([^;,]*)(?:;[^,;]*)*;base64,(.*)$/s;

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base address, or a whole address on the same host. */
  path: string;
  /** JSON, or a form's bytes. */
  body?: object | { bytes: Uint8Array; contentType: string } | undefined;
  signal: AbortSignal | undefined;
}

/** A client for the parts of a provider's API that its package does not cover. */
export interface ApiClient {
  /** @throws UpstreamError for anything but JSON with a 2xx status */
  json(request: ApiRequest): Promise<Fields>;
  /** @throws UpstreamError */
  bytes(request: ApiRequest): Promise<Uint8Array>;
  /** Downloads a file that an answer names: from this host; from another host (without the key, through the egress guard); or from a data: URL. */
  file(address: string, signal: AbortSignal | undefined): Promise<Uint8Array>;
  /** Whether a URL in an answer belongs to this API. */
  isOwn(address: string): boolean;
}

export interface ApiClientOptions {
  fetch: OutboundFetch['fetch'];
  baseUrl: string;
  /** All headers, including the key. */
  headers: Record<string, string>;
  secrets: readonly string[];
  /** Further hosts of the provider, whose requests go to the base address too. */
  alsoOwn?: readonly string[];
}

const isForm = (body: object): body is { bytes: Uint8Array; contentType: string } =>
  'contentType' in body && 'bytes' in body && body.bytes instanceof Uint8Array;

/** Reads a body with a size limit, by default that of files. @throws UpstreamError for a longer one */
export async function readWhole(answer: Response, maxBytes: number = MAX_FILE_BYTES): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (answer.body === null) return Buffer.alloc(0);
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw brokenAnswer('more than can be read');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** One provider's API over its own connections. */
export function createApiClient(options: ApiClientOptions): ApiClient {
  return new HttpApi(options);
}

class HttpApi implements ApiClient {
  private readonly own: ReadonlySet<string>;

  constructor(private readonly options: ApiClientOptions) {
    this.own = new Set([new URL(options.baseUrl).origin, ...(options.alsoOwn ?? [])]);
  }

  isOwn(address: string): boolean {
    return URL.canParse(address) && this.own.has(new URL(address).origin);
  }

  bytes(request: ApiRequest): Promise<Uint8Array> {
    return this.guarded(request.signal, async () => await readWhole(await this.send(request)));
  }

  json(request: ApiRequest): Promise<Fields> {
    return this.guarded(request.signal, async () => {
      const text = (await readWhole(await this.send(request), MAX_JSON_BYTES)).toString('utf8');
      const parsed = parseJson(text);
      if (isFields(parsed)) return parsed;
      // A GET may be repeated, as after a 500: an intermediary's HTML page says nothing of the work.
      const retryable = request.method === 'GET';
      throw new UpstreamError('Upstream answered what is no JSON object', { status: null, retryable });
    });
  }

  file(address: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
    return this.guarded(signal, async () => {
      const data = BASE64_URL.exec(address);
      if (data !== null) return Buffer.from(data[2] ?? '', 'base64');
      if (!/^https?:/.test(address) || !URL.canParse(address)) throw brokenAnswer('no file');
      return await this.download(address, { signal, hops: 0 });
    });
  }

  private async guarded<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    if (signal?.aborted) throw abortedError();
    try {
      return await work();
    } catch (error) {
      throw upstreamErrorOf(error, { secrets: this.options.secrets, signal });
    }
  }

  private async send({ method, path, body, signal }: ApiRequest): Promise<Response> {
    const { baseUrl, headers, fetch } = this.options;
    const url = /^https?:/.test(path) ? path : `${baseUrl}${path}`;
    if (!this.isOwn(url)) throw brokenAnswer('an address of another host');
    const [type, sent] = encoded(body);
    const answer = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, ...(type === null ? {} : { 'content-type': type }) },
      ...(signal === undefined ? {} : { signal }),
      ...(sent === null ? {} : { body: sent }),
    });
    if (!answer.ok) throw await this.statusError(answer);
    return answer;
  }

  private async statusError(answer: Response): Promise<UpstreamError> {
    return errorOfStatus({
      status: answer.status,
      body: (await readWhole(answer, MAX_JSON_BYTES)).toString('utf8'),
      retryAfter: answer.headers.get('retry-after') ?? undefined,
      secrets: this.options.secrets,
    });
  }

  private async download(
    address: string,
    { signal, hops }: { signal: AbortSignal | undefined; hops: number },
  ): Promise<Uint8Array> {
    const answer = await this.options.fetch(address, {
      redirect: 'manual',
      ...(this.isOwn(address) ? { headers: this.options.headers } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
    const next = answer.headers.get('location');
    if (answer.status >= 300 && answer.status < 400 && next !== null && hops < MAX_HOPS) {
      await answer.body?.cancel();
      return await this.download(new URL(next, address).href, { signal, hops: hops + 1 });
    }
    if (answer.status === 200) return await readWhole(answer);
    await answer.body?.cancel();
    throw unreadableFile(answer.status);
  }
}

/** A body with its type. */
function encoded(body: ApiRequest['body']): [string, string | Buffer] | [null, null] {
  if (body === undefined) return [null, null];
  return isForm(body)
    ? [body.contentType, Buffer.from(body.bytes)]
    : ['application/json', JSON.stringify(body)];
}

/** Undefined if it is invalid. */
function parseJson(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text.replace(/^\ufeff/, '')) as unknown;
  } catch {
    return undefined;
  }
}
