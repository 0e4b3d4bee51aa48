import { crc32 } from 'node:zlib';

/** The type of an event: a part of an answer, or an exception. */
export type AmazonEvent = { event: string; payload: object } | { exception: string; payload: object };

function header(name: string, value: string): Buffer {
  const [key, text] = [Buffer.from(name, 'utf8'), Buffer.from(value, 'utf8')];
  const head = Buffer.alloc(key.length + 4);
  head.writeUInt8(key.length);
  key.copy(head, 1);
  // 7: a string.
  head.writeUInt8(7, key.length + 1);
  head.writeUInt16BE(text.length, key.length + 2);
  return Buffer.concat([head, text]);
}

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

function messageOf(event: AmazonEvent): Buffer {
  const isPart = 'event' in event;
  const headers = Buffer.concat([
    header(isPart ? ':event-type' : ':exception-type', isPart ? event.event : event.exception),
    header(':content-type', 'application/json'),
    header(':message-type', isPart ? 'event' : 'exception'),
  ]);
  const payload = Buffer.from(JSON.stringify(event.payload), 'utf8');
  const prelude = Buffer.concat([number(16 + headers.length + payload.length), number(headers.length)]);
  const message = Buffer.concat([prelude, number(crc32(prelude)), headers, payload]);
  return Buffer.concat([message, number(crc32(message))]);
}

/** `application/vnd.amazon.eventstream`: each message with its length, headers and two check sums. */
export function amazonEvents(...events: AmazonEvent[]): Buffer {
  return Buffer.concat(events.map(messageOf));
}

/** A whole streamed answer of Bedrock's Converse API. */
export const converseStream = (text: string): Buffer =>
  amazonEvents(
    { event: 'messageStart', payload: { role: 'assistant' } },
    { event: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text } } },
    { event: 'contentBlockStop', payload: { contentBlockIndex: 0 } },
    { event: 'messageStop', payload: { stopReason: 'end_turn' } },
    {
      event: 'metadata',
      payload: { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } },
    },
  );
