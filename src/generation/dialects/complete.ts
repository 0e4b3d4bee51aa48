import { classesIn, tokenClasses } from '../../providers/index.js';
import type { Model } from '../../models/models.types.js';
import { countTexts } from '../chat/tokens.js';
import { inChatWords, wholeTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import { keepTexts } from './made.js';
import { goesOn } from './rounds.js';
import type { RoundEnd } from './rounds.js';
import type { WholeRound } from './turn.js';
import type { DialectWork } from './work.js';

/** How a dialect puts an answer in one piece together. */
export interface WholeForm<E extends RoundEnd> {
  work: DialectWork;
  /** @returns the round's end, and its texts to count where its upstream did not. @throws ApiError */
  take(round: WholeRound): { end: E; texts: readonly string[] };
  /** Runs the searches of a round that cost so much, and goes on. @throws ApiError */
  nextRound(end: E, cost: Tokens): Promise<void>;
  /** The whole answer. @param tokens of all rounds */
  told(end: E, of: { model: Model; tokens: Tokens }): object;
  /** Stores the answer where it is to be stored. @throws what the database does */
  save(): Promise<void>;
}

interface Last<E> {
  end: E;
  model: Model;
  cost: Tokens;
}

/** An answer in one piece, as JSON. @throws ApiError; the call is settled then */
export async function completeTurn<E extends RoundEnd>(form: WholeForm<E>): Promise<string> {
  const { turn } = form.work;
  for (;;) {
    const round = await turn.complete();
    let last: Last<E> | null;
    let text: string;
    try {
      last = await roundEnded(form, round);
      if (last === null) continue;
      text = await kept(form, last);
    } catch (error) {
      throw await turn.fail(error);
    }
    await charge(form.work, last);
    return text;
  }
}

/** Null where another round follows. */
async function roundEnded<E extends RoundEnd>(
  form: WholeForm<E>,
  round: WholeRound,
): Promise<Last<E> | null> {
  const { work } = form;
  const { end, texts } = taken(form, round);
  work.addUsage(end.reported);
  const cost = await costOf(work, end, texts);
  const { model } = round;
  const upstreamId = idOf(round);
  work.turn.chat.tally.answers({ model, tokens: tokenClasses(cost, end.reported), upstreamId });
  if (!goesOn(end, work.rounds)) return { end, model: round.model, cost };
  await form.nextRound(end, cost);
  return null;
}

const idOf = ({ native, chat }: WholeRound): unknown => (native ?? chat).parsed['id'];

/** Reads a round. One that its upstream failed is costed where its usage is told. @throws ApiError */
function taken<E extends RoundEnd>({ work, take }: WholeForm<E>, round: WholeRound) {
  try {
    return take(round);
  } catch (error) {
    const tokens = classesIn((round.native ?? round.chat).parsed);
    const { model } = round;
    if (tokens !== null) work.turn.chat.tally.answers({ model, tokens, upstreamId: idOf(round) });
    throw error;
  }
}

async function costOf(
  { parts, turn }: DialectWork,
  { reported }: RoundEnd,
  texts: readonly string[],
): Promise<Tokens> {
  const { tokenizer } = parts.engine.options;
  return await wholeTokens(inChatWords(reported), {
    prompt: turn.chat.promptTokens,
    completion: () => countTexts(texts, { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: texts.length > 0,
  });
}

/** Keeps the answer, before it is charged. @throws what the database does; nobody has seen the answer then */
async function kept<E extends RoundEnd>(form: WholeForm<E>, { end, model, cost }: Last<E>): Promise<string> {
  const { work } = form;
  const text = JSON.stringify(form.told(end, { model, tokens: work.turn.spentWith(cost) }));
  await keepTexts(work.turn, work.keptAs, [text]);
  await form.save();
  return text;
}

/** Charges all rounds. @throws ApiError: the answer is not given */
async function charge<E>(work: DialectWork, { model, cost }: Last<E>): Promise<void> {
  const { turn, parts, id } = work;
  const tokens = turn.spend(cost);
  await turn.releaseHeld();
  turn.caller.leave();
  try {
    await parts.engine.settlement.finish(turn.chat, tokens, { messageId: id, model: model.id, unseen: true });
  } catch (error) {
    await work.forget().catch(() => undefined);
    throw error;
  }
}
