import { parseShallow } from '../../text/stored-json.js';
import { isFields } from '../convention/said.js';
import type {
  DialectProvider,
  NativeAnswer,
  NativeCall,
  NativeDialect,
  NativeEvents,
} from '../dialect.types.js';
import { EventExchange } from './event-exchange.js';
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

function parseAnswer(bytes: Buffer, wire: DialectWire): NativeAnswer {
  const text = textOf(bytes).trim();
  let parsed: unknown;
  try {
    parsed = parseShallow(text);
  } catch {
    throw brokenAnswer('broken JSON');
  }
  if (!isFields(parsed)) throw brokenAnswer('no object');
  if (!wire.isWhole(parsed)) {
    if (parsed['error'] != null)
      throw brokenAnswer(`an error with status 200${kindOfError(parsed['error'])}`);
    throw brokenAnswer('no answer');
  }
  return { text, parsed };
}

/** A dialect at an upstream that speaks it: its bytes pass, read once. */
export function createDialectProvider(transport: Transport, dialect: NativeDialect): DialectProvider {
  const wire = DIALECT_WIRES[dialect];
  const sent = ({ body, headers }: NativeCall, stream: boolean) => ({
    path: wire.path,
    body: JSON.stringify({ ...body, stream }),
    headers: headers ?? {},
  });
  return {
    complete: (call) => {
      const { path, body, headers } = sent(call, false);
      return transport
        .postForBytes(path, body, { signal: call.signal, headers })
        .then((bytes) => parseAnswer(bytes, wire));
    },
    stream: (call): Promise<NativeEvents> =>
      new EventExchange(call.signal, { secrets: transport.secrets, wire }).open(transport, sent(call, true)),
  };
}
