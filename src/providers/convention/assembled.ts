import type { TimeSlicer } from '../../collections/time-slicer.js';
import { isLongToRead } from '../../text/read-json.js';
import type { ChatObject } from '../providers.types.js';
import { isEndMarker } from '../openai-compatible/event-texts.js';
import { SseParser } from '../openai-compatible/sse-parser.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { errorChunk, parseChunk, readLongChunk } from './chunk.js';
import type { Chunk } from './chunk.js';
import { isFaultName } from './faults.js';
import { MergedMessage } from './merged.js';
import { isFields } from './answer-text.js';
import { StreamedCalls } from './streamed-calls.js';
import { latestUsage, mayContainUsage } from './usage.js';

type Fields = Record<string, unknown>;

interface OpenChoice {
  message: MergedMessage;
  finish: string | null;
  /** Other fields of its parts; the last value counts. */
  rest: Fields;
  /** The log probabilities of its tokens. */
  logprobs: MergedMessage;
}

/** Builds a whole answer from the parts of a streamed one. */
export class AssembledAnswer {
  private readonly choices = new Map<number, OpenChoice>();
  private head: Fields = {};
  private usage: Fields | null = null;

  /** @param calls those of the answer so far */
  constructor(private readonly calls: StreamedCalls) {}

  /** @throws UpstreamError */
  take(raw: string): void {
    const chunk = parseChunk(raw, this.calls);
    this.usage = latestUsage(this.usage, chunk.usage);
    const { choices, usage: _, ...head } = chunk.parsed;
    for (const name in head) if (head[name] != null) this.head[name] ??= head[name];
    for (const choice of choices) this.choice(choice);
  }

  /** Reads an event after the end, of which only the usage counts. @throws UpstreamError */
  takeUsage(raw: string): void {
    if (mayContainUsage(raw)) this.usage = latestUsage(this.usage, parseChunk(raw, this.calls).usage);
  }

  private choice({ index, delta, finish_reason: finish, logprobs, ...rest }: Chunk['parsed']['choices'][0]) {
    const open = this.choices.get(index) ?? {
      message: new MergedMessage(),
      finish: null,
      rest: {},
      logprobs: new MergedMessage(),
    };
    this.choices.set(index, open);
    open.message.take(delta);
    open.finish = finish ?? open.finish;
    Object.assign(open.rest, rest);
    if (isFields(logprobs)) open.logprobs.take(logprobs);
  }

  /** @param isEnded the stream said that it ends. @throws UpstreamError where nothing was answered, or the answer was cut off */
  answer(isEnded: boolean): ChatObject {
    const closing = isEnded ? this.calls.closing() : null;
    if (closing !== null) this.take(closing);
    const choices = [...this.choices].map(([index, { message, finish, rest, logprobs }]) => {
      if (finish === null && !isEnded) throw brokenAnswer('a stream without its end');
      const said = message.message();
      const probabilities = logprobs.message();
      return {
        index,
        message: { role: 'assistant', content: null, ...said },
        finish_reason: finish ?? (this.calls.has(index) ? 'tool_calls' : 'stop'),
        ...rest,
        logprobs: Object.keys(probabilities).length === 0 ? null : probabilities,
      };
    });
    if (choices.length === 0) throw brokenAnswer('no choices');
    return {
      ...this.head,
      object: 'chat.completion',
      choices,
      ...(this.usage === null ? {} : { usage: this.usage }),
    };
  }
}

/** The beginnings of an event stream, which JSON never has. */
const STREAM = /^(?:data|event|id|retry)?:|^(?:data|event|id|retry)[\r\n]/;

/** Whether an answer is an event stream, whatever its headers say. */
export function isEventStream(text: string): boolean {
  return text.charCodeAt(0) !== 123 && STREAM.test(text.slice(0, 1000).trimStart());
}

/** Bytes that are read at once. */
const PIECE_BYTES = 32 * 1024;

/** Reads an event stream that an upstream sent instead of a whole answer. @throws UpstreamError */
export async function assembledAnswer(
  bytes: Buffer,
  { request, timeSlicer }: { request: Fields; timeSlicer: TimeSlicer },
): Promise<ChatObject> {
  const assembled = new AssembledAnswer(StreamedCalls.of(request));
  let isEnded = false;
  const events: { data: string; name: string }[] = [];
  const parser = new SseParser((data, name) => void events.push({ data, name }));
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await timeSlicer.run(() => true);
    readPiece(parser, bytes.subarray(at, at + PIECE_BYTES));
    if (at + PIECE_BYTES >= bytes.length) parser.end();
    for (const { data, name } of events.splice(0)) {
      if (isLongToRead(data)) await readLongChunk(Buffer.from(data), timeSlicer);
      if (isEnded) assembled.takeUsage(data);
      else if (isEndMarker(data)) isEnded = true;
      else assembled.take(isFaultName(name) ? errorChunk(data) : data);
    }
  }
  return assembled.answer(isEnded);
}

/** @throws UpstreamError */
function readPiece(parser: SseParser, piece: Buffer): void {
  try {
    parser.push(piece);
  } catch {
    throw brokenAnswer('an event that is too long');
  }
}
