import { findTokenClasses, tokenClasses } from '../../providers/index.js';
import type { Model } from '../../models/models.types.js';
import { countTexts } from '../chat/tokens.js';
import { toChatUsage, answerTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import { keepTexts } from './made.js';
import { needsAnotherRound } from './rounds.js';
import type { RoundEnd } from './rounds.js';
import type { WholeRound } from './turn.js';
import type { DialectWork } from './work.js';

/** The parts of a dialect that build a whole answer. */
export interface WholeForm<E extends RoundEnd> {
  work: DialectWork;
  /** @returns the round's end, and its texts, which are read only if its upstream did not count them. @throws ApiError */
  take(round: WholeRound): { end: E; texts(): readonly string[] };
  /** Runs a round's searches and starts the next round. @param cost of the round @throws ApiError */
  nextRound(end: E, cost: Tokens): Promise<void>;
  /** The whole answer. @param tokens of all rounds */
  wholeAnswer(end: E, of: { model: Model; tokens: Tokens }): object;
  /** Stores the answer if it must be stored. Absent: nothing is stored. @param text the answer as JSON @throws errors of the database */
  save?(text: string): Promise<void>;
  /** Called after the charge. Never fails. */
  settled?(): Promise<void>;
}

interface Last<E> {
  end: E;
  model: Model;
  cost: Tokens;
}

/** A whole answer, as JSON. @throws ApiError; the call is settled then */
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
    await form.settled?.();
    return text;
  }
}

/** The answer; null if another round follows. */
async function roundEnded<E extends RoundEnd>(
  form: WholeForm<E>,
  round: WholeRound,
): Promise<Last<E> | null> {
  const { work } = form;
  const { end, texts } = taken(form, round);
  work.addUsage(end.reported);
  const counted = costOf(work, end, texts);
  const cost = counted instanceof Promise ? await counted : counted;
  const { model } = round;
  const upstreamId = idOf(round);
  work.turn.chat.tally.answers({ model, tokens: tokenClasses(cost, end.reported), upstreamId });
  if (!needsAnotherRound(end, work.rounds)) return { end, model: round.model, cost };
  await form.nextRound(end, cost);
  return null;
}

const idOf = ({ native, chat }: WholeRound): unknown => (native ?? chat).parsed['id'];

/** Reads a round. If its upstream failed but reported usage, the cost is recorded. @throws ApiError */
function taken<E extends RoundEnd>({ work, take }: WholeForm<E>, round: WholeRound) {
  try {
    return take(round);
  } catch (error) {
    const tokens = findTokenClasses((round.native ?? round.chat).parsed);
    const { model } = round;
    if (tokens !== null) work.turn.chat.tally.answers({ model, tokens, upstreamId: idOf(round) });
    throw error;
  }
}

/** The cost of a round. Synchronous if the upstream reported its usage. */
function costOf(
  { parts, turn }: DialectWork,
  { reported }: RoundEnd,
  texts: () => readonly string[],
): Tokens | Promise<Tokens> {
  const { tokenizer } = parts.engine.options;
  return answerTokens(toChatUsage(reported), {
    prompt: turn.chat.promptTokens,
    completion: () => countTexts(texts(), { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: () => texts().length > 0,
  });
}

/** Stores the answer before the charge. @throws errors of the database; the caller has not got the answer then */
async function kept<E extends RoundEnd>(form: WholeForm<E>, { end, model, cost }: Last<E>): Promise<string> {
  const { work } = form;
  const text = JSON.stringify(form.wholeAnswer(end, { model, tokens: work.turn.spentWith(cost) }));
  if (work.turn.call.unchargedAnswers !== undefined) await keepTexts(work.turn, work.keptAs, [text]);
  await form.save?.(text);
  return text;
}

/** Charges all rounds. @throws ApiError; the caller does not get the answer then */
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
