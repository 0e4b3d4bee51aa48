import type { Logger } from 'pino';
import type { Principal } from '../../../access/access.types.js';
import { ApiError } from '../../../contract/errors.js';
import type { ErrorCode } from '../../../contract/errors.js';
import { isDatabaseAway } from '../../../jobs/index.js';
import type { Hold, LeasedWork } from '../../../jobs/index.js';
import type { CallContext } from '../../../metering/call-context.js';
import { CANCELLED, OperationTally, SUCCEEDED, toVector } from '../../../metering/index.js';
import type { SettlementEvent, TokenClasses } from '../../../metering/metering.types.js';
import type { Model } from '../../../models/models.types.js';
import { runForOrg } from '../../../processes/index.js';
import type { Permit } from '../../../processes/index.js';
import { tokenClasses, UpstreamError } from '../../../providers/index.js';
import type { HeldChat } from '../../chat/admission.js';
import type { ChatEngine } from '../../chat/engine.js';
import { answerOfFault } from '../../chat/settlement.js';
import { countDelivered } from '../../chat/tokens.js';
import { interruptedClasses, toChatUsage, tokenRate, answerTokens } from '../../chat/usage.js';
import type { Tokens } from '../../chat/usage.js';
import type { Fields } from '../../dialects/checks.js';
import { needsAnotherRound } from '../../dialects/rounds.js';
import type { Round } from '../../dialects/rounds.js';
import type { StreamedRound } from '../../dialects/turn.js';
import { EventLog } from '../events.js';
import { endedResponse, TokenDetails } from '../object.js';
import type { ResponseObject } from '../object.js';
import type { ResponseEnd } from '../rounds.js';
import { idsOf } from '../store.js';
import { ResponseForm } from '../stream.js';
import type { ResponseWork } from '../work.js';
import { EventBatches, ResponseLost } from './batches.js';
import type { EndedResponse, ResponseWriter, WorkRow } from './moves.queries.js';
import { answerChat, replayedChat } from './chat-answer.js';
import type { ChatCharge } from './chat-answer.js';
import { isSameEvent, openMessage, replayed } from './replay.js';
import type { Replayed } from './replay.js';
import { UpstreamAnswer } from './upstream-answer.js';

/** The part of a response's call that is stored for its worker. */
export interface BackgroundRequest extends Pick<CallContext, 'dialect' | 'tagsHeader' | 'sentFor'> {
  body: Fields;
  /** The client token that started the response, whose cap counts its later calls. */
  cappedBy?: string | undefined;
  /** What the key or the token stamped on the response, and stamps on its later calls. */
  stamps?: Principal['stamps'];
}

export interface ExecutionParts {
  engine: ChatEngine;
  writer: ResponseWriter;
  logger: Logger;
  /** The current principal of a response's key, with the cap and the stamps that the response began with. @throws ApiError unauthorized */
  callerOf(row: Pick<WorkRow, 'key_id' | 'request'>): Promise<Principal>;
  /** Prepares the admitted call again. @throws ApiError if that is no longer possible */
  resume(call: CallContext, row: WorkRow): Promise<ResponseWork>;
  /** All stored events. */
  events(row: WorkRow): Promise<string[]>;
}

/** The number of events that are stored when a response is created: `response.created` and `response.queued`. */
export const PREAMBLE = 2;
const TIME_LIMIT_MS = 1_800_000;

/** The reason why an answer ends before its upstream has ended it. */
type Stop = 'cancelled' | 'left' | 'late';

class Stopped extends Error {}

/** An answer that has begun. */
interface Opened {
  form: ResponseForm;
  round: Round<ResponseEnd>;
}

/** One response that this worker has claimed, until it ends or returns to the queue. */
export class ResponseExecution implements LeasedWork {
  readonly hold: Hold;
  readonly ended: Promise<'done' | 'left'>;
  readonly rests = false;
  private readonly abort = new AbortController();
  private readonly log: EventLog;
  private readonly batches: EventBatches;
  private readonly upstreamAnswer: UpstreamAnswer;
  private why: Stop | null = null;
  private work: ResponseWork | null = null;
  private round: Round<ResponseEnd> | null = null;
  /** Texts of this round, as JSON. */
  private readonly delivered: string[] = [];
  /** The content of the usage record, and whether it already contains the current round. */
  private tally: OperationTally;
  private isTallied = false;

  constructor(
    private readonly parts: ExecutionParts,
    private readonly row: WorkRow,
    { workerId, permit }: { workerId: string; permit: Permit },
  ) {
    this.hold = { workerId, orgId: row.org_id, id: row.id, fence: row.fence };
    this.log = new EventLog(row.sequence);
    this.tally = new OperationTally(row.created_at.getTime());
    const { writer } = parts;
    const onCancelling = () => this.cancel();
    this.batches = new EventBatches({ hold: this.hold, writer, onCancelling }, row.sequence);
    this.upstreamAnswer = new UpstreamAnswer({ hold: this.hold, writer, engine: parts.engine }, row);
    this.ended = runForOrg(row.org_id, () => this.whole(), permit);
  }

  /** Does nothing: a stopping worker waits for responses, as it does for chats. */
  drain(): void {
    // The response continues until `stop`.
  }

  cancel(): void {
    this.stopFor('cancelled');
  }

  stop(): void {
    this.stopFor('left');
  }

  private stopFor(why: Stop): void {
    if (this.why !== null) return;
    this.why = why;
    this.abort.abort();
    this.round?.cancel();
  }

  private async whole(): Promise<'done' | 'left'> {
    const late = setTimeout(() => this.stopFor('late'), TIME_LIMIT_MS);
    try {
      await this.begin();
      return 'done';
    } catch (error) {
      return await this.afterFault(error);
    } finally {
      clearTimeout(late);
      this.batches.drop();
      this.work?.turn.caller.leave();
    }
  }

  /**
   * If another worker has delivered a part of the answer, the answer does not start again, because readers have that part: a model continues it,
   * or the response fails (beyond 12.5).
   */
  private async begin(): Promise<void> {
    const { row } = this;
    if (row.cancelling) return await this.endBroken({ status: 'cancelled', message: null });
    if (row.request === '') return await this.endBroken({ status: 'failed', message: 'Interrupted' });
    const isChat = row.kind === 'chat';
    const told = row.sequence > (isChat ? 0 : PREAMBLE) ? await this.parts.events(row) : [];
    const begun = this.replay(told).output.length > 0 ? told : [];
    const isAnswered = await (isChat ? this.answerChat(begun) : this.answer(told, begun));
    if (!isAnswered) await this.endBroken({ status: 'failed', message: 'Interrupted' });
  }

  private replay(events: readonly string[]): Replayed {
    return this.row.kind === 'chat' ? replayedChat(events, 'incomplete') : replayed(events);
  }

  /** @param begun chunks that another worker delivered. @returns false if no model can continue them */
  private async answerChat(begun: readonly string[]): Promise<boolean> {
    const { row, batches, parts } = this;
    const call = callOf(row, await parts.callerOf(row), this.abort.signal);
    const { body } = JSON.parse(row.request) as BackgroundRequest;
    const held = heldOf(row, call);
    this.tally = held.tally;
    const answer = await answerChat(parts.engine, call, { held, body, begun });
    if (answer === null) return false;
    // The stream of the chat adds all its costs to the tally.
    this.isTallied = true;
    const last: string[] = [];
    try {
      for await (const chunk of answer.chunks) {
        if (this.why !== null) throw new Stopped();
        if (answer.charge() === null) await batches.take([chunk]);
        else last.push(chunk);
      }
    } finally {
      answer.leave();
    }
    const charge = answer.charge();
    if (this.why !== null || charge === null) throw new Stopped();
    await batches.flush();
    await this.finishChat(last, charge);
    return true;
  }

  /** Stores the last chunks, and after them the response's end event, which readers of a chat do not get. */
  private async finishChat(last: string[], { tokens, model }: ChatCharge): Promise<void> {
    const { row, parts } = this;
    const { metering, models } = parts.engine.options;
    const events = [...(await parts.events(row)), ...last];
    const { output } = replayedChat(events, 'completed');
    const isCut = last.some((chunk) => chunk.includes('"finish_reason":"length"'));
    const status = isCut ? ('incomplete' as const) : ('completed' as const);
    const asked = models.find(row.model);
    const amounts = metering.tokenAmounts(tokens.total, asked === null ? 100 : tokenRate(asked));
    const begun = JSON.parse(row.response) as ResponseObject;
    const usage = new TokenDetails().usage(tokens);
    const ended = { status, ...(isCut ? { reason: 'max_output_tokens' as const } : {}) };
    const creditsUsed = (amounts.credits ?? 0) / 100;
    const response = endedResponse({ ...begun, model }, { output, ended, usage, creditsUsed });
    const event = { type: `response.${status}`, sequence_number: events.length, response };
    await this.end({
      status,
      response,
      events: [...last, JSON.stringify(event)],
      amounts: toVector(amounts),
      event: createdEvent(row, { model, tokens }),
      outcome: this.tally.outcome(SUCCEEDED),
    });
  }

  /**
   * @param told stored events of an earlier worker
   * @param begun the same events if they contain a part of the answer; else empty
   * @returns false if no upstream and no model can continue them
   */
  private async answer(told: readonly string[], begun: readonly string[]): Promise<boolean> {
    const { row, log, batches, delivered } = this;
    const message = begun.length === 0 ? undefined : openMessage(begun);
    if (message === null && row.upstream_id === null) return false;
    const call = callOf(row, await this.parts.callerOf(row), this.abort.signal);
    const work = await this.parts.resume(call, row);
    this.work = work;
    this.tally = work.turn.chat.tally;
    work.upstreamAnswer = this.upstreamAnswer;
    const opened = (await this.askAgain(work, told)) ?? (await this.open(work, message));
    if (opened === null) return false;
    const { form } = opened;
    let { round } = opened;
    for (;;) {
      this.round = round;
      this.isTallied = false;
      while (this.why === null && (await round.step())) await batches.take(log.ready.splice(0));
      if (this.why !== null) throw new Stopped();
      const end = round.end();
      work.addUsage(end.reported);
      const cost = await costOf(work, end, delivered);
      this.tallyRound(round, tokenClasses(cost, end.reported));
      if (!needsAnotherRound(end, work.rounds)) {
        await this.finish(form, { end, model: round.model, cost });
        return true;
      }
      await form.nextRound(end, cost);
      delivered.length = 0;
      round = this.roundOf(form, await work.turn.stream());
    }
  }

  private roundOf(form: ResponseForm, found: StreamedRound, ids?: readonly string[]): Round<ResponseEnd> {
    return form.roundOf(found, (literal) => this.delivered.push(literal), ids);
  }

  private formOf(work: ResponseWork, first: StreamedRound): ResponseForm {
    const form = new ResponseForm(work, first, { log: this.log });
    if (this.row.sequence === PREAMBLE) form.beginWork();
    return form;
  }

  /** @param message that another worker began. @returns null if no model can continue it */
  private async open(
    work: ResponseWork,
    message: ReturnType<typeof openMessage> | undefined,
  ): Promise<Opened | null> {
    if (message === null) return null;
    const first = await (message === undefined ? work.turn.stream() : work.turn.takeOver(message.text));
    if (first === null) return null;
    const form = this.formOf(work, first);
    if (message === undefined) return { form, round: this.roundOf(form, first) };
    const round = this.roundOf(form, first, [message.id]);
    // The first step is the delivered text, whose events are already stored.
    await round.step();
    this.log.rewind(this.row.sequence);
    return { form, round };
  }

  /**
   * Continues with the answer that the upstream generated meanwhile.
   * @returns null if the upstream has no answer that continues the stored events
   */
  private async askAgain(work: ResponseWork, told: readonly string[]): Promise<Opened | null> {
    const { row, log, delivered } = this;
    const asked = this.upstreamAnswer.again(work.turn.caller);
    const first = asked && (await work.turn.resume(asked));
    if (first === null) return null;
    const form = this.formOf(work, first);
    const ids = replayed(told).output.map(({ id }) => String(id));
    const round = this.roundOf(form, first, ids);
    this.round = round;
    let isSame = false;
    try {
      isSame = await this.passOver(round, told.slice(PREAMBLE + 1));
    } finally {
      if (!isSame) {
        // This answer is not used, so everything that was read from it is removed.
        round.cancel();
        this.round = null;
        delivered.length = 0;
        work.items.length = 0;
        log.rewind(row.sequence);
      }
    }
    if (this.why !== null) throw new Stopped();
    if (isSame) return { form, round };
    void this.upstreamAnswer.leave();
    return null;
  }

  /** Reads the part of a round that is already stored. @returns false if the round's events differ from the stored events */
  private async passOver(round: Round<ResponseEnd>, told: readonly string[]): Promise<boolean> {
    if (told.length === 0) return true;
    const { log } = this;
    log.rewind(PREAMBLE + 1);
    try {
      while (this.why === null && log.ready.length < told.length && (await round.step()));
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
    }
    const again = log.ready.splice(0, told.length);
    return again.length === told.length && told.every((event, at) => isSameEvent(event, again[at] ?? ''));
  }

  private async finish(
    form: ResponseForm,
    { end, model, cost }: { end: ResponseEnd; model: Model; cost: Tokens },
  ): Promise<void> {
    const { work } = form;
    const tokens = work.turn.spend(cost);
    form.writeFinalEvents(end, { model, tokens });
    await work.turn.releaseHeld();
    const response = form.whole;
    if (response === null) throw new Error('a response without its end');
    const last = this.log.ready.splice(0);
    await this.batches.take(last.slice(0, -1));
    await this.batches.flush();
    const rate = tokenRate(work.turn.chat.model);
    await this.end({
      status: response.status as EndedResponse['status'],
      response,
      events: last.slice(-1),
      amounts: toVector(work.parts.engine.options.metering.tokenAmounts(tokens.total, rate)),
      event: createdEvent(this.row, { model: model.id, tokens }),
      outcome: this.tally.outcome(SUCCEEDED),
    });
  }

  private async afterFault(error: unknown): Promise<'done' | 'left'> {
    const { work, why } = this;
    if (error instanceof ResponseLost) return 'done';
    if (why === 'left' || isDatabaseAway(error)) return 'left';
    if (why === null && !(error instanceof ApiError) && !(error instanceof UpstreamError))
      this.parts.logger.error({ err: error, responseId: this.row.id }, 'a response failed');
    try {
      await work?.turn.releaseHeld();
      this.round?.breakOff();
      await this.batches.take(this.log.ready.splice(0));
      await this.batches.flush();
      if (why === 'cancelled') await this.endBroken({ status: 'cancelled', message: null });
      else
        await this.endBroken({
          status: 'failed',
          message: why === 'late' ? 'Timed out' : answerOfFault(error).message,
          ...(why === null ? { code: answerOfFault(error).code } : {}),
        });
      return 'done';
    } catch (fault) {
      if (fault instanceof ResponseLost) return 'done';
      this.parts.logger.error({ err: fault, responseId: this.row.id }, 'a response could not be ended');
      return 'left';
    }
  }

  /** Ends an incomplete answer. The part that was delivered is stored and charged. */
  private async endBroken({
    status,
    message,
    code = 'server_error',
  }: {
    status: 'failed' | 'cancelled';
    message: string | null;
    /** The error code for its usage record. */
    code?: ErrorCode;
  }): Promise<void> {
    const { row } = this;
    const events = await this.parts.events(row);
    const { output, texts } = this.replay(events);
    const error = message === null ? null : { code: 'server_error' as const, message };
    const response = {
      ...(JSON.parse(row.response) as ResponseObject),
      status,
      error,
      output: output as never,
    };
    const event = { type: `response.${status}`, sequence_number: events.length, response };
    const amounts = await this.amountsOf(texts);
    await this.tallyBroken(texts);
    const outcome = this.tally.outcome(status === 'failed' ? { status, errorCode: code } : CANCELLED);
    await this.end({ status, response, events: [JSON.stringify(event)], amounts, event: null, outcome });
  }

  /** The charge of an incomplete answer. It is free (null) if nothing was delivered, except if the caller cancelled it while it was generated. */
  private async amountsOf(texts: readonly string[]): Promise<number[] | null> {
    const { metering, models, tokenizer } = this.parts.engine.options;
    const model = models.find(this.row.model);
    const spent = this.work?.turn.spent.total ?? 0;
    const isFree = texts.length === 0 && spent === 0 && (this.why !== 'cancelled' || this.work === null);
    if (isFree || model === null) return null;
    const literals = spent > 0 ? this.delivered : texts.map((text) => JSON.stringify(text));
    const total = (spent || this.row.prompt_tokens) + (await countDelivered(literals, tokenizer));
    return toVector(metering.tokenAmounts(total, tokenRate(model)));
  }

  /** Adds the tokens of a round that broke off to the usage record, also if another worker delivered them. */
  private async tallyBroken(texts: readonly string[]): Promise<void> {
    const { round, row, work } = this;
    const { models, tokenizer } = this.parts.engine.options;
    if (this.isTallied || (round === null && texts.length === 0)) return;
    const literals = round === null ? texts.map((text) => JSON.stringify(text)) : this.delivered;
    const delivered = await countDelivered(literals, tokenizer);
    const prompt = work?.turn.chat.promptTokens ?? row.prompt_tokens;
    const tokens = interruptedClasses(round?.upstreamReport().reported, { prompt, delivered });
    const model = models.find(row.model);
    if (round !== null) this.tallyRound(round, tokens);
    else if (model !== null) this.tally.answers({ model, tokens });
  }

  private tallyRound(round: Round<ResponseEnd>, tokens: TokenClasses): void {
    this.isTallied = true;
    this.tally.answers({ model: round.model, tokens, upstreamId: round.upstreamReport().id });
  }

  private async end({
    response,
    ...end
  }: Omit<EndedResponse, 'hold' | 'response' | 'itemIds'> & { response: ResponseObject }): Promise<void> {
    const itemIds = idsOf(response.output);
    const ended = { ...end, hold: this.hold, response: JSON.stringify(response), itemIds };
    if (!(await this.parts.writer.end(ended))) throw new ResponseLost();
    await this.upstreamAnswer.leave();
  }
}

async function costOf(
  { parts, turn }: ResponseWork,
  { reported }: ResponseEnd,
  delivered: readonly string[],
): Promise<Tokens> {
  const { tokenizer } = parts.engine.options;
  return await answerTokens(toChatUsage(reported), {
    prompt: turn.chat.promptTokens,
    completion: () => countDelivered(delivered, tokenizer),
    generated: () => delivered.length > 0,
  });
}

/** The admitted call of a response, with its reservation. */
export function heldOf(row: WorkRow, call: CallContext): HeldChat {
  const operationId = `op_${row.id.slice('resp_'.length)}`;
  const tally = new OperationTally(row.created_at.getTime());
  return { call, operationId, promptTokens: row.prompt_tokens, maxTokens: row.max_tokens, tally };
}

function callOf(row: WorkRow, principal: Principal, signal: AbortSignal): CallContext {
  const { dialect, tagsHeader, sentFor } = JSON.parse(row.request) as BackgroundRequest;
  return {
    principal,
    requestId: row.request_id,
    client: row.client,
    signal,
    keyWindowOpen: false,
    rate: null,
    idempotencyKey: null,
    dialect,
    tagsHeader,
    sentFor,
  };
}

function createdEvent(row: WorkRow, { model, tokens }: { model: string; tokens: Tokens }): SettlementEvent {
  return {
    orgId: row.org_id,
    type: 'chat.message.created',
    data: {
      messageId: row.id,
      model,
      role: 'assistant',
      totalTokens: tokens.total,
      conversationId: null,
    },
    traceparent: row.client.traceparent ?? null,
  };
}
