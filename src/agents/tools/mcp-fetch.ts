import { STDIO_DEFAULT_MAX_BUFFER_SIZE, type FetchLike } from '@modelcontextprotocol/client';
import { EgressError } from '../../egress/index.js';

/** As much as the library reads of a program's message. */
const MAX_ANSWER_BYTES = STDIO_DEFAULT_MAX_BUFFER_SIZE;
/** An empty line, which ends an event, in each of the three notations of a line's end: the second is that of CR LF. */
const EVENT_ENDS = ['\n\n', '\n\r', '\r\r'];
/** The text that the model gets. */
export const TOO_LARGE = 'The MCP server answered with more than can be read';

type RequestId = string | number;

interface Message {
  id?: RequestId;
  method?: string;
  params?: { requestId?: RequestId };
}

/** Values in an answer, far more than any has: the library reads and checks all of them in one go. */
const MAX_VALUES = 100_000;
const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = [...Buffer.from('"\\,{[')];

/** About how many values a JSON text has, read a part at a time. */
class ValueCount {
  count = 0;
  #isString = false;
  #isEscaped = false;

  take(part: Uint8Array): void {
    for (const byte of part) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#isString = !this.#isString;
      else if (this.#isString) this.#isEscaped = byte === BACKSLASH;
      else if (byte === COMMA || byte === BRACE || byte === BRACKET) this.count++;
    }
  }
}

interface Bounds {
  /** Counts the next part. @throws EgressError where it is too much */
  count(part: Uint8Array): void;
  /** Read in place of the rest if the stream broke off; null: the error is thrown. */
  instead(error: unknown): Uint8Array | null;
  /** Nothing more is read. */
  end(): void;
}

/**
 * The library's `fetch` for one connection, with the bounds that the library does not set. Of the answer to a message at most
 * MAX_ANSWER_BYTES are read, and nothing after its request was cancelled, as the library does when its time is over, too. The stream for the
 * server's own messages stays open for as long as it likes, with each event bounded.
 */
export function createMcpFetch(send: FetchLike): FetchLike {
  const requests = new Map<RequestId, AbortController>();
  return async (url, init = {}) => {
    if (init.method !== 'POST') return bounded(await send(url, init), ofEachEvent());
    const { id, method, params } = JSON.parse(String(init.body)) as Message;
    if (method === 'notifications/cancelled') requests.get(params?.requestId ?? '')?.abort();
    if (method === undefined || id === undefined) return bounded(await send(url, init), ofTheWhole());
    const cancelled = new AbortController();
    requests.set(id, cancelled);
    const end = () => void requests.delete(id);
    try {
      const signals = init.signal == null ? [] : [init.signal];
      const signal = AbortSignal.any([cancelled.signal, ...signals]);
      const answer = await send(url, { ...init, signal });
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
      const isOver = (error: unknown) => error instanceof EgressError || cancelled.signal.aborted;
      const instead = (error: unknown) => (isStream && isOver(error) ? lastEvent(id) : null);
      return bounded(answer, { ...ofTheWhole(), instead, end });
    } catch (error) {
      end();
      throw error;
    }
  };
}

/** The request's answer is in it, because the library asks on for the rest of a stream that ended without one. */
function lastEvent(id: RequestId): Uint8Array {
  const result = { content: [{ type: 'text', text: TOO_LARGE }], isError: true };
  return Buffer.from(`\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
}

function tooLarge(): EgressError {
  return new EgressError('too_large', 'The body is too large');
}

function ofTheWhole(): Bounds {
  let size = 0;
  const values = new ValueCount();
  return {
    count: (part) => {
      size += part.length;
      values.take(part);
      if (size > MAX_ANSWER_BYTES || values.count > MAX_VALUES) throw tooLarge();
    },
    instead: () => null,
    end: () => undefined,
  };
}

function ofEachEvent(): Bounds {
  let pending = 0;
  let last = '';
  return {
    ...ofTheWhole(),
    count: (part) => {
      const text = last + Buffer.from(part).toString('latin1');
      const end = Math.max(...EVENT_ENDS.map((mark) => text.lastIndexOf(mark)));
      pending = end === -1 ? pending + part.length : text.length - end;
      last = text.slice(-1);
      if (pending > MAX_ANSWER_BYTES) throw tooLarge();
    },
  };
}

function bounded(answer: Response, { count, instead, end }: Bounds): Response {
  if (answer.body === null) {
    end();
    return answer;
  }
  const reader = answer.body.getReader();
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          count(value);
          return controller.enqueue(value);
        }
        end();
        controller.close();
      } catch (error) {
        end();
        reader.cancel(error).catch(() => undefined);
        const rest = instead(error);
        if (rest === null) return controller.error(error);
        controller.enqueue(rest);
        controller.close();
      }
    },
    cancel(reason: unknown) {
      end();
      return reader.cancel(reason);
    },
  };
  const { status, statusText, headers } = answer;
  const body = new ReadableStream(source, { highWaterMark: 0 });
  return new Response(body, { status, statusText, headers: [...headers] });
}
