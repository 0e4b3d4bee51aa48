import type { Dispatcher } from 'undici';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { isFields } from '../convention/answer-text.js';
import type {
  BackgroundAnswers,
  DialectProvider,
  NativeAnswer,
  NativeCall,
  NativeDialect,
  NativeEvents,
} from '../dialect.types.js';
import { EventExchange } from './event-exchange.js';
import { fieldsWithout } from './optional-fields.js';
import type { LeftOut, OptionalFields, RefusedFields } from './optional-fields.js';
import type { StreamRequest } from './stream-exchange.js';
import type { Transport } from './transport.js';
import { brokenAnswer, errorOfStatus, kindOfError } from './upstream-errors.js';

/** How a dialect goes over HTTP. */
export interface DialectWire {
  path: string;
  /** Whether an event, by its name or its `type`, ends the stream: nothing comes after it. */
  isLast(type: string): boolean;
  /** The value of `object` or `type` by which a whole answer is known, also where it comes in the place of a stream. */
  isWhole(parsed: Record<string, unknown>): boolean;
}

const RESPONSES_END = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'error',
]);
const MESSAGES_END = new Set(['message_stop', 'error']);

export const DIALECT_WIRES: Readonly<Record<NativeDialect, DialectWire>> = {
  responses: {
    path: '/responses',
    isLast: (type) => RESPONSES_END.has(type),
    isWhole: (parsed) => parsed['object'] === 'response' || Array.isArray(parsed['output']),
  },
  messages: {
    path: '/messages',
    isLast: (type) => MESSAGES_END.has(type),
    isWhole: (parsed) => parsed['type'] === 'message' || Array.isArray(parsed['content']),
  },
};

function answerOf(parsed: unknown, wire: DialectWire): NativeAnswer {
  if (!isFields(parsed)) throw brokenAnswer('no object');
  if (!wire.isWhole(parsed)) {
    if (parsed['error'] != null)
      throw brokenAnswer(`an error with status 200${kindOfError(parsed['error'])}`);
    throw brokenAnswer('no answer');
  }
  return { parsed };
}

/** Fields that change no answer: an upstream that refuses one gets the request without it. */
const HINTS = [
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'metadata',
  'service_tier',
];

/** What a refusal calls a value of `include`. */
const wordsOf = (included: string): string[] => [
  included,
  ...(included === 'reasoning.encrypted_content' ? ['encrypted content', 'encrypted_content'] : []),
];

function without({ body, addedIncludes = [] }: NativeCall, left: LeftOut): Record<string, unknown> {
  if (left.size === 0) return body;
  const kept = fieldsWithout(body, left);
  const { include } = kept;
  if (!Array.isArray(include)) return kept;
  const requested = include.filter(
    (one: unknown) => !(addedIncludes.includes(one as string) && left.has(one as string)),
  );
  const { include: _, ...rest } = kept;
  return requested.length === 0 ? rest : { ...rest, include: requested };
}

/** How requests of a dialect reach an upstream whose address or wire is another than its maker's. */
export interface DialectConnection {
  /** Whether a model speaks the dialect, by the upstream's name for it. */
  speaks(modelId: string): boolean;
  request(call: NativeCall, streams: boolean): Promise<StreamRequest & { body: string | Buffer }>;
  /** Makes the convention's events of a streamed answer. */
  reading(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler;
}

/** All dialects that an upstream speaks. */
export function dialectsOf(
  options: DialectOptions,
  spoken: readonly NativeDialect[],
): Partial<Record<NativeDialect, DialectProvider>> {
  return Object.fromEntries(
    spoken.map((dialect) => [dialect, createDialectProvider(dialect, options)] as const),
  );
}

interface DialectOptions {
  transport: Transport;
  refused: RefusedFields;
  connection?: DialectConnection | undefined;
}

/** The door of nearly all upstreams. */
const defaultConnection = ({ path }: DialectWire): Omit<DialectConnection, 'speaks'> => ({
  request: ({ body, headers }, stream) =>
    Promise.resolve({
      path,
      body: JSON.stringify({ ...body, stream }),
      ...(headers === undefined ? {} : { headers }),
    }),
  reading: (handler) => handler,
});

function backgroundAnswers(
  transport: Transport,
  { path }: DialectWire,
  open: (signal: LightAbortSignal, requested: StreamRequest) => Promise<NativeEvents>,
): BackgroundAnswers {
  const pathOf = (id: string): string => `${path}/${encodeURIComponent(id)}`;
  const tell = async (method: 'POST' | 'DELETE', at: string, signal: AbortSignal): Promise<void> => {
    const status = await transport.statusOf(at, signal, method);
    if (status >= 300)
      throw errorOfStatus({ status, body: '', retryAfter: undefined, secrets: transport.secrets });
  };
  return {
    resume(id, { after, signal }) {
      const behind = after === null ? '' : `&starting_after=${after}`;
      return open(signal, { path: `${pathOf(id)}?stream=true${behind}`, body: null });
    },
    cancel: (id, signal) => tell('POST', `${pathOf(id)}/cancel`, signal),
    forget: (id, signal) => tell('DELETE', pathOf(id), signal),
  };
}

/** A dialect at an upstream that speaks it: its bytes pass, read once. */
export function createDialectProvider(
  dialect: NativeDialect,
  { transport, refused, connection }: DialectOptions,
): DialectProvider {
  const wire = DIALECT_WIRES[dialect];
  const { request, reading } = connection ?? defaultConnection(wire);
  const send = <T>(call: NativeCall, attempt: (body: Record<string, unknown>) => Promise<T>): Promise<T> => {
    const optional = (): OptionalFields =>
      Object.fromEntries([
        ...HINTS.map((name) => [name, []] as const),
        ...(call.addedIncludes ?? []).map((name) => [name, wordsOf(name)] as const),
      ]);
    const requested = { path: wire.path, modelId: String(call.body['model']), optional };
    return refused.send(requested, (left) => attempt(without(call, left)));
  };
  const complete = async (call: NativeCall): Promise<NativeAnswer> => {
    const { path, body, headers } = await request(call, false);
    const options = { signal: call.signal, ...(headers === undefined ? {} : { headers }) };
    const bytes = await transport.postForBytes(path, body, options);
    return answerOf(await transport.readAnswer(bytes), wire);
  };
  const open = (signal: LightAbortSignal, requested: StreamRequest): Promise<NativeEvents> => {
    const dispatch: Transport['dispatch'] = (path, body, { handler, ...handling }) =>
      transport.dispatch(path, body, { ...handling, handler: reading(handler) });
    const { timeSlicer } = transport;
    const readAnswer: Transport['readAnswer'] = (bytes) => transport.readAnswer(bytes);
    const events = new EventExchange(signal, { secrets: transport.secrets, wire });
    return events.open({ dispatch, timeSlicer, readAnswer }, requested);
  };
  const stream = async (call: NativeCall): Promise<NativeEvents> =>
    open(call.signal, await request(call, true));
  return {
    ...(connection === undefined ? {} : { speaks: (modelId) => connection.speaks(modelId) }),
    ...(connection === undefined && dialect === 'responses'
      ? { background: backgroundAnswers(transport, wire, open) }
      : {}),
    complete: (call) => send(call, (body) => complete({ ...call, body })),
    stream: (call) => send(call, (body) => stream({ ...call, body })),
  };
}
