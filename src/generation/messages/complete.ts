import { isFields, usageIn, withPlainContent, withWholeCalls } from '../../providers/index.js';
import { countTexts } from '../chat/tokens.js';
import { wholeTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import { keepTexts } from '../dialects/made.js';
import type { WholeRound } from '../dialects/turn.js';
import { SilentLog } from './events.js';
import { textsIn } from './native-output.js';
import { chatAgain, chatOutputOf, endingOf, nativeEnd, nativeOutputOf } from './rounds.js';
import type { RoundEnd } from './rounds.js';
import type { MessageWork } from './work.js';

/** The most rounds that searches may make of an answer: beyond the last one the model has been told for long that there are no more. */
export const MAX_ROUNDS = 7;

const log = new SilentLog();
const NOBODY = (): void => undefined;

/** What an answer is kept as for a retry with its Idempotency-Key. */
export const keptAs = ({ prepared }: Pick<MessageWork, 'prepared'>): unknown =>
  bodyKey(prepared.request.body);

export const bodyKey = (body: Fields): unknown => ['message', body];

/** The blocks of a chat's whole answer. */
function takeChat(work: MessageWork, round: WholeRound & { native: null }): RoundEnd {
  const { parsed } = round.chat;
  const choice = isFields(parsed.choices[0]) ? parsed.choices[0] : {};
  const given = isFields(choice['message']) ? choice['message'] : {};
  const message = withWholeCalls(withPlainContent(given));
  const output = chatOutputOf({ work, log, model: round.model, deliver: NOBODY }, () => message);
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : [];
  const indexed = calls.filter(isFields).map((call, index) => ({ ...call, index }));
  output.delta({ ...message, tool_calls: indexed });
  output.end();
  const { searches, hasCalls } = output;
  const { stops } = work.prepared.request;
  return {
    ending: endingOf(output, { said: choice['finish_reason'], choice, stops }),
    reported: usageIn(parsed),
    searches,
    hasCalls,
    added: () => chatAgain(message),
  };
}

/** The blocks of an upstream's whole answer in the dialect. */
function takeNative(work: MessageWork, round: WholeRound & { chat: null }): RoundEnd {
  const output = nativeOutputOf({ work, log, model: round.model, deliver: NOBODY });
  output.takeWhole(round.native.parsed);
  return nativeEnd(output);
}

async function costOf(work: MessageWork, reported: unknown, content: readonly Fields[]): Promise<Tokens> {
  const { tokenizer } = work.parts.engine.options;
  const texts = textsIn(content);
  return await wholeTokens(isFields(reported) ? usageIn({ usage: reported }) : null, {
    prompt: work.turn.chat.promptTokens,
    completion: () => countTexts(texts, { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: texts.length > 0,
  });
}

/** A message in one piece. @throws ApiError; the call is settled then */
export async function completeMessage(work: MessageWork): Promise<string> {
  const { turn } = work;
  for (;;) {
    const round = await turn.complete();
    let last: Last | null;
    let text: string;
    try {
      last = await roundEnded(work, round);
      if (last === null) continue;
      text = await kept(work, last);
    } catch (error) {
      throw await turn.fail(error);
    }
    await charge(work, last);
    return text;
  }
}

type Last = Pick<RoundEnd, 'ending'> & Pick<WholeRound, 'model'> & { cost: Tokens };

/** Null where another round follows. */
async function roundEnded(work: MessageWork, round: WholeRound): Promise<Last | null> {
  const before = work.content.length;
  const end = round.native === null ? takeChat(work, round) : takeNative(work, round);
  const { ending, searches, hasCalls, reported } = end;
  work.usage.add(reported);
  const cost = await costOf(work, reported, work.content.slice(before));
  if (searches.length === 0 || hasCalls || work.rounds >= MAX_ROUNDS)
    return { ending, model: round.model, cost };
  const results = await work.runSearches(searches, NOBODY);
  await work.nextRound(cost, end.added(), results);
  return null;
}

/** The answer's text, kept for a retry before it is charged. @throws what the database does; nobody has seen the answer then */
async function kept(work: MessageWork, { ending, model, cost }: Last): Promise<string> {
  const { spent } = work.turn;
  const tokens = {
    prompt: spent.prompt + cost.prompt,
    completion: spent.completion + cost.completion,
    total: spent.total + cost.total,
  };
  const text = JSON.stringify(work.ended(model, { ending, tokens }));
  await keepTexts(work.turn, keptAs(work), [text]);
  return text;
}

/** Charges all rounds. @throws ApiError: the answer is not given */
async function charge({ turn, parts, id }: MessageWork, { model, cost }: Last): Promise<void> {
  const tokens = turn.spend(cost);
  await turn.releaseHeld();
  turn.caller.leave();
  await parts.engine.settlement.finish(turn.chat, tokens, { messageId: id, model: model.id, unseen: true });
}
