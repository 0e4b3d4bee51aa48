import { AsyncLocalStorage } from 'node:async_hooks';
import { isEventStream } from '../convention/assembled.js';
import { fromItsBeginning } from '../openai-compatible/answer-beginning.js';
import { withoutEmptyEvents, withoutEmptyMessages } from './empty-events.js';

/** The form of an answer: whole, or a stream of events. */
export type AnswerForm = 'whole' | 'streamed';

/** A request that a package sends for a chat. */
interface ChatFetch {
  wanted: AnswerForm;
  /** An answer in the other form, to be read by the package's other method. */
  came: Response | null;
}

const currentFetch = new AsyncLocalStorage<ChatFetch>();

const TYPES = {
  whole: 'application/json',
  list: 'application/json',
  streamed: 'text/event-stream',
  frames: 'application/vnd.amazon.eventstream',
} as const;
type Kind = keyof typeof TYPES;

/** Characters that are needed to recognise an event's field. */
const FIELD_LENGTH = 6;
const [BRACE, BRACKET] = [0x7b, 0x5b];

/** Detects an answer's form by its first bytes. Null: no form that packages read. Undefined: more bytes are needed. */
function kindOf(bytes: Buffer): Kind | null | undefined {
  // The length of the first message, which never reaches 16 MB.
  if (bytes[0] === 0) return 'frames';
  const said = fromItsBeginning(bytes);
  if (said.length === 0) return undefined;
  if (said[0] === BRACE) return 'whole';
  if (said[0] === BRACKET) return 'list';
  const text = said.toString('latin1', 0, 100);
  if (isEventStream(text)) return 'streamed';
  return text.length < FIELD_LENGTH ? undefined : null;
}

/** Detects the form of an answer, and returns it with its first bytes put back. */
async function judged(answer: Response, body: ReadableStream<Uint8Array>): Promise<[Kind | null, Response]> {
  const reader = body.getReader();
  let head: Buffer = Buffer.alloc(0);
  let kind = kindOf(head);
  let ended = false;
  while (kind === undefined && !ended) {
    const { done, value } = await reader.read();
    ended = done;
    if (value !== undefined) head = Buffer.concat([head, value]);
    kind = kindOf(head);
  }
  const whole = new ReadableStream<Uint8Array>({
    start(controller) {
      if (head.length > 0) controller.enqueue(new Uint8Array(head));
      if (ended) controller.close();
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return [kind ?? null, withBody(answer, whole, kind ?? null)];
}

function withBody(
  { status, statusText, headers: given }: Response,
  body: ReadableStream<Uint8Array> | string,
  kind: Kind | null,
) {
  const headers = new Headers(given);
  if (kind !== null) headers.set('content-type', TYPES[kind]);
  return new Response(body, { status, statusText, headers });
}

/** Unwraps a JSON list: one item is an answer (some gateways wrap each one), several are the events of a stream. */
async function unlisted(answer: Response): Promise<[Kind, Response]> {
  const text = await answer.text();
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Invalid JSON: the package reports it.
  }
  if (!Array.isArray(parsed) || parsed.length === 0) return ['whole', withBody(answer, text, 'whole')];
  const [first, ...others] = parsed.map((item: unknown) => JSON.stringify(item));
  if (others.length === 0) return ['whole', withBody(answer, first!, 'whole')];
  const events = [first, ...others].map((data) => `data: ${data}\n\n`).join('');
  return ['streamed', withBody(answer, events, 'streamed')];
}

async function readable(answer: Response): Promise<[AnswerForm | null, Response]> {
  if (answer.body === null) return [null, answer];
  const [kind, begun] = await judged(answer, answer.body);
  if (kind === null) return [null, begun];
  const [form, ready] = kind === 'list' ? await unlisted(begun) : [kind, begun];
  if (form === 'whole') return ['whole', ready];
  const silenceless = form === 'frames' ? withoutEmptyMessages() : withoutEmptyEvents();
  return ['streamed', withBody(ready, ready.body!.pipeThrough(silenceless), form)];
}

/**
 * A `fetch` for packages that detects the form of chat answers by their content, whatever their headers say. An answer in the other form is kept
 * for {@link callInEitherForm}.
 */
export function detectAnswerForm(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const call = currentFetch.getStore();
    if (call === undefined) return await fetch(input, init);
    const { came } = call;
    if (came !== null) {
      call.came = null;
      return came;
    }
    const answer = await fetch(input, init);
    if (!answer.ok) return answer;
    const [form, ready] = await readable(answer);
    if (form === null || form === call.wanted) return ready;
    call.came = ready;
    throw new Error('The answer came in the other form');
  };
}

/**
 * Requests an answer in one form by a package. If it arrives in the other form, calls the package's other method, which gets that answer and
 * sends no request.
 */
export async function callInEitherForm<T>(wanted: AnswerForm, ways: Record<AnswerForm, () => Promise<T>>) {
  const call: ChatFetch = { wanted, came: null };
  try {
    return await currentFetch.run(call, ways[wanted]);
  } catch (error) {
    if (call.came === null) throw error;
    const other = wanted === 'whole' ? 'streamed' : 'whole';
    return await currentFetch.run({ wanted: other, came: call.came }, ways[other]);
  }
}
