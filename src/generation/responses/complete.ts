import { ApiError } from '../../contract/errors.js';
import { finishReason, isFields, usageIn, withPlainContent, withWholeCalls } from '../../providers/index.js';
import { countTexts } from '../chat/tokens.js';
import { wholeTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import type { WholeRound } from '../dialects/turn.js';
import { conclude, keepMade, MAX_ROUNDS, save } from './ending.js';
import { SilentLog } from './events.js';
import { NativeOutput, textsIn } from './native-output.js';
import { chatOutputOf, endedOf, itemsAgain, nativeEnd } from './rounds.js';
import type { RoundEnd } from './rounds.js';
import type { ResponseWork } from './work.js';

const NOBODY = { begun: () => undefined, ended: () => undefined };
const log = new SilentLog();

/** The items of a chat's whole answer. */
function takeChat(work: ResponseWork, round: WholeRound & { native: null }): RoundEnd {
  const { parsed } = round.chat;
  const [choice] = parsed.choices;
  const given = isFields(choice) && isFields(choice['message']) ? choice['message'] : {};
  const message = withWholeCalls(withPlainContent(given));
  const before = work.items.length;
  const output = chatOutputOf({ work, log, model: round.model, deliver: () => undefined }, () => message);
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : [];
  const indexed = calls.filter(isFields).map((call, index) => ({ ...call, index }));
  const logprobs = isFields(choice) && isFields(choice['logprobs']) ? choice['logprobs']['content'] : null;
  output.delta({ ...message, tool_calls: indexed }, logprobs);
  const said = isFields(choice) ? choice['finish_reason'] : null;
  const ended = endedOf(finishReason(said, calls.length > 0));
  output.end(ended.status === 'completed' ? 'completed' : 'incomplete');
  const { searches, hasCalls } = output;
  const items = itemsAgain(work.items.slice(before), searches);
  return { ended, reported: parsed['usage'], searches, hasCalls, items, final: null };
}

/** The items of an upstream's whole answer in the dialect. */
function takeNative(work: ResponseWork, round: WholeRound & { chat: null }): RoundEnd {
  const provider = work.providerOf(round.model);
  const searches = provider !== null && work.prepared.tools.native(provider).searches;
  const output = new NativeOutput({
    log,
    items: work.items,
    search: searches ? work.search : null,
    deliver: () => undefined,
  });
  const { parsed } = round.native;
  if (parsed['status'] === 'failed') throw new ApiError('server_error', 'Generation failed');
  output.end(parsed);
  return nativeEnd(output);
}

async function costOf(work: ResponseWork, { reported, items }: RoundEnd): Promise<Tokens> {
  const { tokenizer } = work.parts.engine.options;
  const texts = items.flatMap(textsIn);
  return await wholeTokens(isFields(reported) ? usageIn({ usage: reported }) : null, {
    prompt: work.turn.chat.promptTokens,
    completion: () => countTexts(texts, { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: texts.length > 0,
  });
}

/** A response in one piece. @throws ApiError; the call is settled then */
export async function completeResponse(work: ResponseWork): Promise<string> {
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

type Last = Pick<RoundEnd, 'ended' | 'final'> & Pick<WholeRound, 'model'> & { cost: Tokens };

/** Null where another round follows. */
async function roundEnded(work: ResponseWork, round: WholeRound): Promise<Last | null> {
  const { model } = round;
  const end = round.native === null ? takeChat(work, round) : takeNative(work, round);
  work.details.add(end.reported);
  const cost = await costOf(work, end);
  const { ended, final, searches, hasCalls } = end;
  if (searches.length === 0 || hasCalls || work.rounds >= MAX_ROUNDS) return { ended, final, model, cost };
  const outputs = await work.runSearches(searches, NOBODY);
  await work.nextRound(cost, [...end.items, ...outputs]);
  return null;
}

/** Keeps the answer, before it is charged. @throws what the database does; nobody has seen the answer then */
async function kept(work: ResponseWork, { ended, final, model, cost }: Last): Promise<string> {
  const { spent } = work.turn;
  const tokens = {
    prompt: spent.prompt + cost.prompt,
    completion: spent.completion + cost.completion,
    total: spent.total + cost.total,
  };
  const response = conclude(work, { model, ended, tokens, final });
  const text = JSON.stringify(response);
  await keepMade(work, [text]);
  await save(work, response);
  return text;
}

/** Charges all rounds. @throws ApiError: the answer is not given */
async function charge({ turn, parts, id }: ResponseWork, { model, cost }: Last): Promise<void> {
  const tokens = turn.spend(cost);
  await turn.releaseHeld();
  turn.caller.leave();
  try {
    await parts.engine.settlement.finish(turn.chat, tokens, { messageId: id, model: model.id, unseen: true });
  } catch (error) {
    await parts.store.forget(turn.call.principal.orgId, id).catch(() => undefined);
    throw error;
  }
}
