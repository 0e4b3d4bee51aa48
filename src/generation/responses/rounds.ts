import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { finishReason, isFields } from '../../providers/index.js';
import type { AskedCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import { ChatRound, NativeRound, wholeChat } from '../dialects/rounds.js';
import type { ChatForm, Round, RoundEnd } from '../dialects/rounds.js';
import type { StreamedRound, WholeRound } from '../dialects/turn.js';
import { ItemOutput } from './chat-output.js';
import type { EventLog } from './events.js';
import { NativeOutput } from './native-output.js';
import type { Ended } from './object.js';
import { itemId } from './request.js';
import type { ResponseWork } from './work.js';

/** How a round of a response ended. */
export interface ResponseEnd extends RoundEnd {
  ended: Ended;
  /** What a further round is given of it. */
  items: Fields[];
  /** The upstream's own object, where it speaks the dialect. */
  final: Fields | null;
}

interface RoundOptions {
  work: ResponseWork;
  log: EventLog;
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
  /** Of its first message, where another process began it. */
  messageId?: string | undefined;
}

/** What the reason of a chat's end means for a response. */
function endedOf(said: unknown): Ended {
  const reason = finishReason(said, false);
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { status: 'incomplete', reason } : { status: 'completed' };
}

/** A call of our own search as an item, which its caller is not shown. */
const searchItem = ({ id, name, arguments: said }: AskedCall): Fields => ({
  id: itemId('function_call'),
  type: 'function_call',
  call_id: id,
  name,
  arguments: said,
});

/** What a chat's round is given again: its items, and its searches as the calls that they were. */
function itemsAgain(items: readonly Fields[], searches: readonly AskedCall[]): Fields[] {
  return [...items, ...searches.map(searchItem)];
}

/** A round of a chat as items, with its seals. */
function chatForm({ work, log, model, deliver, messageId }: RoundOptions): ChatForm<ItemOutput, ResponseEnd> {
  const { items, search } = work;
  const { custom } = work.prepared.tools;
  const before = items.length;
  return {
    model,
    deliver,
    keepsTexts: false,
    output: (message) =>
      new ItemOutput({ log, items, custom, search, messageId, ...work.sealing(model, message) }),
    end(output, { reason, reported }) {
      const ended = endedOf(reason);
      output.end(ended.status === 'completed' ? 'completed' : 'incomplete');
      const { searches, hasCalls } = output;
      const again = itemsAgain(items.slice(before), searches);
      return { ended, reported, searches, hasCalls, items: again, final: null };
    },
  };
}

function nativeOutput({ work, log, model, deliver }: RoundOptions): NativeOutput {
  return new NativeOutput({ log, items: work.items, search: work.nativeSearch(model), deliver });
}

function nativeEnd({ final, searches, hasCalls, raw }: NativeOutput): ResponseEnd {
  const { status, incomplete_details: details, usage } = final ?? {};
  const reason = isFields(details) ? details['reason'] : undefined;
  const ended: Ended =
    status === 'incomplete'
      ? { status, reason: reason === 'content_filter' ? reason : 'max_output_tokens' }
      : { status: 'completed' };
  return { ended, reported: usage, searches, hasCalls, items: raw, final };
}

/** A round that is streamed. */
export function streamedRound(
  found: StreamedRound,
  options: Omit<RoundOptions, 'model'>,
): Round<ResponseEnd> {
  const { model } = found;
  const all = { ...options, model };
  if (found.native === null) return new ChatRound(found.chat, chatForm(all));
  return new NativeRound(found.native, model, { output: nativeOutput(all), end: nativeEnd });
}

/** A round in one piece. @throws ApiError where the upstream failed */
export function wholeRound(found: WholeRound, options: Omit<RoundOptions, 'model'>): ResponseEnd {
  const all = { ...options, model: found.model };
  if (found.native === null) return wholeChat(found.chat, chatForm(all));
  const output = nativeOutput(all);
  const { parsed } = found.native;
  if (parsed['status'] === 'failed') throw new ApiError('server_error', 'Generation failed');
  output.end(parsed);
  return nativeEnd(output);
}
