import { SseParser } from '../openai-compatible/sse-parser.js';
import { PRELUDE_BYTES, SUM_BYTES, wholeMessages } from './amazon-messages.js';

/** Removes events without content from a stream, because some provider packages fail at them. */
type Filter = TransformStream<Uint8Array, Uint8Array>;

/** Types of events that belong to an answer or report an error. Providers add new types and ask clients to ignore unknown ones. */
export const KNOWN_EVENT = /^(?:message|content|tool|citation)[-_]|error/;

/** The event's `type`, if it is the first member. */
const FIRST_TYPE = /^\{\s*"type"\s*:\s*"([^"\\]*)"/;

/** Whether an event's data has content: an object of a type that packages know, or the end of the stream. */
function saysSomething(data: string): boolean {
  const text = data.trim();
  if (text === '[DONE]') return true;
  if (!text.startsWith('{') || /^\{\s*\}$/.test(text)) return false;
  const type = FIRST_TYPE.exec(text)?.[1];
  return type === undefined || KNOWN_EVENT.test(type) || text.includes('"error"');
}

function eventOf(data: string, name: string): string {
  const head = name === '' ? '' : `event: ${name}\n`;
  return `${head}${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
}

/** For Server-Sent Events. */
export function withoutEmptyEvents(): Filter {
  let said = '';
  const parser = new SseParser((data, name) => {
    if (saysSomething(data)) said += eventOf(data, name);
  });
  const encoder = new TextEncoder();
  const tell = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (said !== '') controller.enqueue(encoder.encode(said));
    said = '';
  };
  return new TransformStream({
    transform(bytes, controller) {
      parser.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      tell(controller);
    },
    flush(controller) {
      parser.end();
      tell(controller);
    },
  });
}

/** The header of an event; other messages are exceptions, which have another header. */
const IS_EVENT = Buffer.from(':message-type\x07\x00\x05event', 'latin1');

/** Whether a message has no content. (Messages are padded with a member `p`.) */
function isSilentMessage(message: Buffer): boolean {
  const payloadAt = PRELUDE_BYTES + message.readUInt32BE(4);
  if (!message.subarray(PRELUDE_BYTES, payloadAt).includes(IS_EVENT)) return false;
  const payload = message.toString('utf8', payloadAt, message.length - SUM_BYTES);
  if (!saysSomething(payload)) return true;
  let said: Record<string, unknown>;
  try {
    said = JSON.parse(payload) as Record<string, unknown>;
  } catch {
    return false;
  }
  const { p: _, delta, ...others } = said;
  const isEmpty = delta === undefined || JSON.stringify(delta) === '{}';
  return isEmpty && (delta !== undefined || Object.keys(others).length === 0);
}

/** For the messages of an Amazon event stream. */
export function withoutEmptyMessages(): Filter {
  let pending: Buffer = Buffer.alloc(0);
  return new TransformStream({
    transform(bytes, controller) {
      const { messages, rest } = wholeMessages(Buffer.concat([pending, bytes]));
      pending = rest;
      for (const message of messages)
        if (!isSilentMessage(message)) controller.enqueue(new Uint8Array(message));
    },
    flush(controller) {
      // An incomplete message is passed on: the package reports it.
      if (pending.length > 0) controller.enqueue(new Uint8Array(pending));
    },
  });
}
