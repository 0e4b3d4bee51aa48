import { SseParser } from '../openai-compatible/sse-parser.js';
import { PRELUDE_BYTES, SUM_BYTES, wholeMessages } from './amazon-messages.js';

/** Takes events out of a stream that say nothing: makers' packages fail at them, some already at the first. */
type Filter = TransformStream<Uint8Array, Uint8Array>;

/** Events that bring an answer, or say that there will be none. Makers add others, and ask that those are passed over. */
export const KNOWN_EVENT = /^(?:message|content|tool|citation)[-_]|error/;

/** The type that an event says first. */
const FIRST_TYPE = /^\{\s*"type"\s*:\s*"([^"\\]*)"/;

/** Whether an event's data says anything: an object with members of a kind that packages know, or that the stream ends. */
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

/** A header whose value is a string: what is no event is an exception, and says so in its headers. */
const IS_EVENT = Buffer.from(':message-type\x07\x00\x05event', 'latin1');

/** Messages are padded with a member `p`; a part of an answer may have nothing in it. */
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
      // One that broke off is for the package to tell.
      if (pending.length > 0) controller.enqueue(new Uint8Array(pending));
    },
  });
}
