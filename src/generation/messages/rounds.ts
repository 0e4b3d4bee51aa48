import type { Model } from '../../models/models.types.js';
import { finishReason, isFields } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import { roundOfDialect } from '../dialects/continued-round.js';
import type { Continuable } from '../dialects/continued-round.js';
import { ChatRound, NativeRound, wholeChat } from '../dialects/rounds.js';
import type { ChatForm, ChatRoundResult, Round, RoundEnd } from '../dialects/rounds.js';
import type { OpenEvents, StreamedRound, WholeRound } from '../dialects/turn.js';
import { BlockOutput } from './chat-output.js';
import type { BegunText } from './chat-output.js';
import type { MessageLog } from './events.js';
import { NativeOutput } from './native-output.js';
import type { Added, MessageWork } from './work.js';

/** The end of a message's round. */
export interface MessageEnd extends RoundEnd {
  /** `stop_reason`, `stop_sequence`, and further fields of an upstream with the dialect. */
  ending: Fields;
  /** The messages that the next round gets from it. */
  added(): Added;
}

interface RoundOptions {
  work: MessageWork;
  log: MessageLog;
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
  /** The block that an upstream of the dialect began. */
  begun?: BegunText;
}

const REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
} as const;

/** Converts the end of a chat to the end of a message. @param stops the requested stop texts */
function endingOf(
  { hasCalls, hasRefused }: BlockOutput,
  { reason: said, choice }: ChatRoundResult,
  stops: readonly string[],
): Fields {
  const word = REASONS[finishReason(said, hasCalls)];
  const reason =
    hasRefused && word === 'end_turn' ? 'refusal' : word === 'tool_use' && !hasCalls ? 'end_turn' : word;
  // Some upstreams report which stop text ended the answer.
  const found = [choice['stop_reason'], choice['matched_stop']].find((text) =>
    stops.includes(text as string),
  );
  if (reason === 'end_turn' && found !== undefined)
    return { stop_reason: 'stop_sequence', stop_sequence: found };
  return { stop_reason: reason, stop_sequence: null };
}

/** The messages of a chat's round for the next round: its text and all its calls. */
function chatAgain(message: Fields): Added {
  const { content, tool_calls: calls } = message;
  const asked = Array.isArray(calls) ? (calls as unknown[]).filter(isFields) : [];
  const native = asked.map(({ id, function: called }) => {
    const { name, arguments: said } = called as Fields;
    return { type: 'tool_use', id, name, input: parsedOr(said) };
  });
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
  return {
    chat: {
      ...message,
      role: 'assistant',
      content: typeof content === 'string' && content !== '' ? content : null,
    },
    native: [...text, ...native],
  };
}

function parsedOr(said: unknown): unknown {
  try {
    return JSON.parse(said as string) as unknown;
  } catch {
    return {};
  }
}

/** The messages of a dialect's round for the next round: its blocks, and its texts and calls in case the next round is a chat. */
function nativeAgain(blocks: readonly Fields[]): Added {
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' ? [text as string] : []));
  return {
    native: [...blocks],
    chat: {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join(''),
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input ?? {}) },
      })),
    },
  };
}

/** Writes a round of a chat as blocks, with its seals. */
function chatForm({ work, log, model, deliver, begun }: RoundOptions): ChatForm<BlockOutput, MessageEnd> {
  const { content, search } = work;
  return {
    model,
    deliver,
    keepsTexts: search !== null,
    begun: begun?.text,
    output: (message) => new BlockOutput({ log, content, search, begun, ...work.sealing(model, message) }),
    end(output, said) {
      output.end('completed');
      const { searches, hasCalls } = output;
      const ending = endingOf(output, said, work.prepared.request.stops);
      return { ending, reported: said.reported, searches, hasCalls, added: () => chatAgain(said.message()) };
    },
  };
}

function nativeOutput({ work, log, model, deliver }: RoundOptions): NativeOutput {
  return new NativeOutput({ log, content: work.content, search: work.nativeSearch(model), deliver });
}

function nativeEnd(output: NativeOutput): MessageEnd {
  output.end();
  const { ending, usage, searches, hasCalls } = output;
  const reason = output.reason ?? (hasCalls ? 'tool_use' : 'end_turn');
  return {
    ending: { stop_sequence: null, ...ending, stop_reason: reason },
    reported: usage,
    searches,
    hasCalls,
    added: () => nativeAgain(output.raw),
  };
}

/** A streamed round. */
export function streamedRound(found: StreamedRound, options: Omit<RoundOptions, 'model'>): Round<MessageEnd> {
  const { model } = found;
  const all = { ...options, model };
  if (found.native === null) return new ChatRound(found.chat, chatForm(all));
  const { native } = found;
  const { deliver, work } = options;
  const begin = (taken: typeof deliver) => nativeRound(native, { ...all, deliver: taken });
  return roundOfDialect({ turn: work.turn, model, deliver, begin });
}

/** A round of an upstream of the dialect, and the function that continues its text with a chat. */
function nativeRound(events: OpenEvents, options: RoundOptions): Continuable<MessageEnd> {
  const output = nativeOutput(options);
  return {
    round: new NativeRound(events, options.model, { output, end: nativeEnd }),
    rest() {
      const { begun } = output;
      return begun && ((chat) => new ChatRound(chat, chatForm({ ...options, begun })));
    },
  };
}

/** A whole round. */
export function wholeRound(found: WholeRound, options: Omit<RoundOptions, 'model'>): MessageEnd {
  const all = { ...options, model: found.model };
  if (found.native === null) return wholeChat(found.chat, chatForm(all));
  const output = nativeOutput(all);
  output.takeWhole(found.native.parsed);
  return nativeEnd(output);
}
