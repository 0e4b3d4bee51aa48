/** The server and the key that the AI SDK's models use for their requests to `/v1`. */
export interface Endpoint {
  /** The address of the server, without a path. */
  url: string;
  key: string;
}

export interface Call {
  body: unknown;
  abortSignal?: AbortSignal | undefined;
  headers?: Record<string, string | undefined> | undefined;
}

/** The AI SDK recognises its own errors by these marks, even if they come from another copy of the package. */
const MARKS = ['vercel.ai.error', 'vercel.ai.error.AI_APICallError'].map((name) => Symbol.for(name));

/** A refusal of the server, in the AI SDK's form. The SDK repeats the call where that may help. The message is the server's. */
export class ApiCallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly isRetryable: boolean;

  constructor(
    message: string,
    readonly details: {
      url: string;
      requestBodyValues: unknown;
      statusCode?: number;
      responseBody?: string;
      responseHeaders?: Record<string, string>;
    },
  ) {
    super(message);
    const { statusCode = 0 } = details;
    this.isRetryable = statusCode === 0 || statusCode === 409 || statusCode === 429 || statusCode >= 500;
    Object.assign(this, details);
    for (const mark of MARKS) Object.defineProperty(this, mark, { value: true });
  }
}

function messageOf(text: string, status: number): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string };
    const said = typeof error === 'object' ? error.message : error;
    if (typeof said === 'string' && said !== '') return said;
  } catch {
    // The body is not JSON, so the answer comes from a proxy.
  }
  return `The server answered ${status}`;
}

/** Sends one request. @throws ApiCallError if the status is not a success */
export async function send({ url, key }: Endpoint, path: string, call: Call): Promise<Response> {
  const address = `${url.replace(/\/+$/, '')}/v1${path}`;
  const isForm = call.body instanceof FormData;
  const headers = new Headers({ authorization: `Bearer ${key}` });
  if (!isForm) headers.set('content-type', 'application/json');
  for (const [name, value] of Object.entries(call.headers ?? {}))
    if (value !== undefined) headers.set(name, value);
  const requestBodyValues = isForm ? {} : call.body;
  const response = await fetch(address, {
    method: 'POST',
    headers,
    body: isForm ? (call.body as FormData) : JSON.stringify(call.body),
    ...(call.abortSignal === undefined ? {} : { signal: call.abortSignal }),
  }).catch((error: unknown) => {
    if (call.abortSignal?.aborted === true) throw error;
    throw new ApiCallError('The server cannot be reached', { url: address, requestBodyValues });
  });
  if (response.ok) return response;
  const responseBody = await response.text();
  throw new ApiCallError(messageOf(responseBody, response.status), {
    url: address,
    requestBodyValues,
    statusCode: response.status,
    responseBody,
    responseHeaders: headersOf(response),
  });
}

export const headersOf = (response: Response): Record<string, string> => Object.fromEntries(response.headers);

/** Yields the data of each event of an event stream, until `[DONE]`. */
export async function* eventsOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  let text = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += value ?? '';
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const data = /^data: ?(.*)$/m.exec(text.slice(0, at))?.[1];
        text = text.slice(at + 2);
        if (data === '[DONE]') return;
        if (data !== undefined && data !== '') yield data;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
