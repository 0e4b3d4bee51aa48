import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { finishReason, isFields } from '../../providers/index.js';
import type { RequestedToolCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import { roundOfDialect } from '../dialects/continued-round.js';
import type { Continuable } from '../dialects/continued-round.js';
import { ChatRound, NativeRound, wholeChat } from '../dialects/rounds.js';
import type { ChatForm, Round, RoundEnd } from '../dialects/rounds.js';
import type { OpenEvents, StreamedRound, WholeRound } from '../dialects/turn.js';
import { ItemOutput } from './chat-output.js';
import type { BegunMessage } from './chat-output.js';
import type { EventLog } from './events.js';
import { NativeOutput } from './native-output.js';
import type { Ended } from './object.js';
import { itemId } from './request.js';
import type { ResponseWork } from './work.js';

/** The end of a response's round. */
export interface ResponseEnd extends RoundEnd {
  ended: Ended;
  /** Whether the upstream said that the answer has ended: then an answer of nothing is an answer too. */
  isStated: boolean;
  /** The items that the next round gets from it. */
  items: Fields[];
  /** The upstream's own object if it has the dialect; else null. */
  final: Fields | null;
}

interface RoundOptions {
  work: ResponseWork;
  log: EventLog;
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
  /** The ids of its first items if another process began it. */
  ids?: readonly string[] | undefined;
  /** The message that an upstream of the dialect began. */
  begun?: BegunMessage;
}

/** Converts the finish reason of a chat to the end of a response. */
function endedOf(said: unknown): Ended {
  const reason = finishReason(said, false);
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { status: 'incomplete', reason } : { status: 'completed' };
}

/** Converts a call of our own search to an item. The caller does not get this item. */
const searchItem = ({ id, name, arguments: said }: RequestedToolCall): Fields => ({
  id: itemId('function_call'),
  type: 'function_call',
  call_id: id,
  name,
  arguments: said,
});

/** The items of a chat's round for the next round: the items of the answer, and the searches as calls. */
function itemsAgain(items: readonly Fields[], searches: readonly RequestedToolCall[]): Fields[] {
  return [...items, ...searches.map(searchItem)];
}

/** Writes a round of a chat as items, with its seals. */
function chatForm(options: RoundOptions): ChatForm<ItemOutput, ResponseEnd> {
  const { work, log, model, deliver, ids, begun } = options;
  const { items, search } = work;
  const { custom } = work.prepared.tools;
  const before = begun?.index ?? items.length;
  const messageId = begun === undefined ? ids?.[0] : undefined;
  return {
    model,
    deliver,
    keepsTexts: false,
    begun: begun?.text,
    output: (message) =>
      new ItemOutput({ log, items, custom, search, messageId, begun, ...work.sealing(model, message) }),
    end(output, { reason, reported }) {
      const ended = endedOf(reason);
      output.end(ended.status === 'completed' ? 'completed' : 'incomplete');
      const { searches, hasCalls } = output;
      const again = itemsAgain(items.slice(before), searches);
      return { ended, isStated: reason != null, reported, searches, hasCalls, items: again, final: null };
    },
  };
}

function nativeOutput({ work, log, model, deliver, ids }: RoundOptions): NativeOutput {
  return new NativeOutput({ log, items: work.items, search: work.nativeSearch(model), deliver, ids });
}

function nativeEnd({ final, searches, hasCalls, raw }: NativeOutput): ResponseEnd {
  const { status, incomplete_details: details, usage } = final ?? {};
  const reason = isFields(details) ? details['reason'] : undefined;
  const ended: Ended =
    status === 'incomplete'
      ? { status, reason: reason === 'content_filter' ? reason : 'max_output_tokens' }
      : { status: 'completed' };
  return { ended, isStated: final !== null, reported: usage, searches, hasCalls, items: raw, final };
}

/** A streamed round. */
export function streamedRound(
  found: StreamedRound,
  options: Omit<RoundOptions, 'model'>,
): Round<ResponseEnd> {
  const { model } = found;
  const all = { ...options, model };
  if (found.native === null) return new ChatRound(found.chat, chatForm(all));
  const { native } = found;
  const { deliver, work } = options;
  const begin = (taken: typeof deliver) => nativeRound(native, { ...all, deliver: taken });
  return roundOfDialect({ turn: work.turn, model, deliver, begin });
}

/** A round of an upstream of the dialect, and the function that continues its message with a chat. */
function nativeRound(events: OpenEvents, options: RoundOptions): Continuable<ResponseEnd> {
  const output = nativeOutput(options);
  return {
    round: new NativeRound(events, options.model, { output, end: nativeEnd }),
    rest() {
      const { begun } = output;
      return begun && ((chat) => new ChatRound(chat, chatForm({ ...options, begun })));
    },
  };
}

/** A whole round. @throws ApiError if the upstream failed */
export function wholeRound(found: WholeRound, options: Omit<RoundOptions, 'model'>): ResponseEnd {
  const all = { ...options, model: found.model };
  if (found.native === null) return wholeChat(found.chat, chatForm(all));
  const output = nativeOutput(all);
  const { parsed } = found.native;
  if (parsed['status'] === 'failed') throw new ApiError('server_error', 'Generation failed');
  output.end(parsed);
  return nativeEnd(output);
}
