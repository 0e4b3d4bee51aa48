import { isFields } from '../convention/said.js';
import type {
  DialectProvider,
  NativeAnswer,
  NativeCall,
  NativeDialect,
  NativeEvents,
} from '../dialect.types.js';
import { EventExchange } from './event-exchange.js';
import { fieldsWithout, RefusedFields } from './optional-fields.js';
import type { LeftOut, OptionalFields } from './optional-fields.js';
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

/** A dialect at an upstream that speaks it: its bytes pass, read once. */
export function createDialectProvider(
  transport: Transport,
  dialect: NativeDialect,
  refused = new RefusedFields(),
): DialectProvider {
  const wire = DIALECT_WIRES[dialect];
  const send = <T>(call: NativeCall, attempt: (body: Record<string, unknown>) => Promise<T>): Promise<T> => {
    const optional = (): OptionalFields =>
      Object.fromEntries([
        ...HINTS.map((name) => [name, []] as const),
        ...(call.addedIncludes ?? []).map((name) => [name, wordsOf(name)] as const),
      ]);
    const asked = { path: wire.path, modelId: String(call.body['model']), optional };
    return refused.send(asked, (left) => attempt(without(call, left)));
  };
  return {
    complete: (call) =>
      send(call, (body) =>
        transport
          .postForBytes(wire.path, JSON.stringify({ ...body, stream: false }), {
            signal: call.signal,
            ...(call.headers === undefined ? {} : { headers: call.headers }),
          })
          .then(async (bytes) => answerOf(bytes, await transport.readAnswer(bytes), wire)),
      ),
    stream: (call): Promise<NativeEvents> =>
      send(call, (body) =>
        new EventExchange(call.signal, { secrets: transport.secrets, wire }).open(transport, {
          path: wire.path,
          body: JSON.stringify({ ...body, stream: true }),
          ...(call.headers === undefined ? {} : { headers: call.headers }),
        }),
      ),
  };
}
