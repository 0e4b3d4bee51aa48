import type { Dispatcher } from 'undici';
import { isFields } from '../convention/said.js';
import type {
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
import { textOf } from './transport.js';
import type { Transport } from './transport.js';
import { brokenAnswer, kindOfError } from './upstream-errors.js';

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

function answerOf(bytes: Buffer, parsed: unknown, wire: DialectWire): NativeAnswer {
  if (!isFields(parsed)) throw brokenAnswer('no object');
  if (!wire.isWhole(parsed)) {
    if (parsed['error'] != null)
      throw brokenAnswer(`an error with status 200${kindOfError(parsed['error'])}`);
    throw brokenAnswer('no answer');
  }
  return { text: textOf(bytes).trim(), parsed };
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
  const asked = include.filter(
    (one: unknown) => !(addedIncludes.includes(one as string) && left.has(one as string)),
  );
  const { include: _, ...rest } = kept;
  return asked.length === 0 ? rest : { ...rest, include: asked };
}

/** How requests of a dialect reach an upstream whose address or wire is another than its maker's. */
export interface DialectDoor {
  /** Whether a model speaks the dialect, by the upstream's name for it. */
  speaks(modelId: string): boolean;
  request(call: NativeCall, streams: boolean): Promise<StreamRequest>;
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
  door?: DialectDoor | undefined;
}

/** The door of nearly all upstreams. */
const usualDoor = ({ path }: DialectWire): Omit<DialectDoor, 'speaks'> => ({
  request: ({ body, headers }, stream) =>
    Promise.resolve({
      path,
      body: JSON.stringify({ ...body, stream }),
      ...(headers === undefined ? {} : { headers }),
    }),
  reading: (handler) => handler,
});

/** A dialect at an upstream that speaks it: its bytes pass, read once. */
export function createDialectProvider(
  dialect: NativeDialect,
  { transport, refused, door }: DialectOptions,
): DialectProvider {
  const wire = DIALECT_WIRES[dialect];
  const { request, reading } = door ?? usualDoor(wire);
  const send = <T>(call: NativeCall, attempt: (body: Record<string, unknown>) => Promise<T>): Promise<T> => {
    const optional = (): OptionalFields =>
      Object.fromEntries([
        ...HINTS.map((name) => [name, []] as const),
        ...(call.addedIncludes ?? []).map((name) => [name, wordsOf(name)] as const),
      ]);
    const asked = { path: wire.path, modelId: String(call.body['model']), optional };
    return refused.send(asked, (left) => attempt(without(call, left)));
  };
  const complete = async (call: NativeCall): Promise<NativeAnswer> => {
    const { path, body, headers } = await request(call, false);
    const options = { signal: call.signal, ...(headers === undefined ? {} : { headers }) };
    const bytes = await transport.postForBytes(path, body, options);
    return answerOf(bytes, await transport.readAnswer(bytes), wire);
  };
  const stream = async (call: NativeCall): Promise<NativeEvents> => {
    const dispatch: Transport['dispatch'] = (path, body, { handler, ...handling }) =>
      transport.dispatch(path, body, { ...handling, handler: reading(handler) });
    const { timeSlicer } = transport;
    const readAnswer: Transport['readAnswer'] = (bytes) => transport.readAnswer(bytes);
    const events = new EventExchange(call.signal, { secrets: transport.secrets, wire });
    return await events.open({ dispatch, timeSlicer, readAnswer }, await request(call, true));
  };
  return {
    ...(door === undefined ? {} : { speaks: (modelId) => door.speaks(modelId) }),
    complete: (call) => send(call, (body) => complete({ ...call, body })),
    stream: (call) => send(call, (body) => stream({ ...call, body })),
  };
}
