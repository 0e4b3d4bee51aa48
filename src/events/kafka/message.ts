import type { Message } from 'kafkajs';
import type { BusMessage, EventEnvelope } from '../events.types.js';

/** Brokers take batches of 1 MB by default; keys, headers and framing need their share. */
export const MAX_BYTES = 900_000;

/** A message as it goes to a topic, with its size. */
export interface EncodedMessage {
  topic: BusMessage['topic'];
  bytes: number;
  message: Message;
}

/** Smaller versions of an event that is too large: without its output, then also without its input, then only its id. */
function* reductions({ data }: EventEnvelope): Generator<EventEnvelope['data']> {
  const cut = { ...data, outputData: null, truncated: true };
  yield cut;
  yield { ...cut, inputParams: {} };
  yield { id: data.id ?? null, outputData: null, truncated: true };
}

interface Fitting {
  value: string;
  bytes: number;
}

function measure(value: string): Fitting {
  return { value, bytes: Buffer.byteLength(value) };
}

function fitting(message: BusMessage): Fitting {
  const whole = measure(message.stored?.json ?? JSON.stringify(message.event));
  if (whole.bytes <= MAX_BYTES) return whole;
  const { event } = message;
  for (const data of reductions(event)) {
    const reduced = measure(JSON.stringify({ ...event, data }));
    if (reduced.bytes <= MAX_BYTES) return reduced;
  }
  throw new Error(`event ${event.id} cannot be made to fit`);
}

/** Value, key and headers of decisions 6, "Kafka messages"; over 900 kB with `outputData: null, truncated: true`. */
export function encode(of: BusMessage): EncodedMessage {
  const { topic, key, headers: further } = of;
  const { value, bytes } = fitting(of);
  const { id, type } = of.stored ?? of.event;
  const headers = { 'event-id': id, 'event-type': type, ...further };
  return { topic, bytes, message: { key, value, headers } };
}

/**
 * Splits a publication into requests: kafkajs makes one record batch of all messages for a partition, and the broker always refuses a batch over
 * its limit. The requests are sent one after the other, so the order is kept.
 */
export function inRequests(messages: EncodedMessage[]): EncodedMessage[][] {
  const requests: EncodedMessage[][] = [];
  let room = 0;
  for (const message of messages) {
    if (message.bytes > room || requests.length === 0) {
      requests.push([]);
      room = MAX_BYTES;
    }
    requests.at(-1)?.push(message);
    room -= message.bytes;
  }
  return requests;
}

/** @throws SyntaxError or TypeError for what is not one of our envelopes. */
export function decode(value: Buffer | null): EventEnvelope {
  const event = JSON.parse((value ?? Buffer.alloc(0)).toString('utf8')) as Partial<EventEnvelope> | null;
  if (typeof event?.id !== 'string' || typeof event.type !== 'string' || typeof event.orgId !== 'string') {
    throw new TypeError('not an event envelope');
  }
  return event as EventEnvelope;
}
