import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Tokens } from '../chat/usage.js';
import { keepTexts } from './made.js';
import { TurnMeter } from './meter.js';
import { needsAnotherRound } from './rounds.js';
import type { Round, RoundEnd } from './rounds.js';
import type { StreamedRound } from './turn.js';
import type { DialectWork } from './work.js';

type Step = IteratorResult<string, undefined>;
const DONE: Step = { done: true, value: undefined };

/** The end of an answer that is not delivered completely. */
export interface BrokenOff {
  status: 'failed' | 'cancelled';
  /** The caller's error. */
  fault: ApiError | null;
}

/** The parts of a dialect that write a streamed answer. */
export interface StreamForm<E extends RoundEnd> {
  work: DialectWork;
  /** Events that are written but not yet delivered. */
  log: { readonly ready: string[] };
  /** Writes the events before the first round. */
  begin(first: StreamedRound): void;
  /** @param deliver takes a text that was delivered, as JSON */
  roundOf(found: StreamedRound, deliver: (literal: string) => void): Round<E>;
  /** Runs a round's searches, writes their events, and starts the next round. @param cost of the round @throws ApiError */
  nextRound(end: E, cost: Tokens): Promise<void>;
  /** Writes the last events. @param tokens of all rounds @throws if there is no answer */
  writeFinalEvents(end: E, of: { model: Model; tokens: Tokens }): void;
  /** Stores the answer if it must be stored. @throws errors of the database */
  save(): Promise<void>;
  /** Stores the received part of an incomplete answer, if it must be stored. Never fails; may be called again. */
  breakOff(round: Round<E>, how: BrokenOff): Promise<void>;
  /** Called after the charge, before the last events are delivered. Never fails. */
  settled?(): Promise<void>;
  /** Stores the delivered events; null: nothing is stored. */
  readonly kept?: KeptStream | null;
  /** The last event of an answer that its caller cancelled by another request. */
  readonly cancelled?: string | null;
}

/** Stores the events of an answer, for other readers than its caller. */
export interface KeptStream {
  /** Adds an event that was delivered. */
  take(event: string): void;
  /** Whether more events of the stored answer will come. */
  readonly isOpen: boolean;
  /** @param stop ends the answer early */
  onStop(stop: (fault: ApiError) => void): void;
}

/**
 * Delivers a streamed answer with all its rounds to its reader. The meter decides how it ends. The answer is stored and
 * charged before its last events are delivered.
 */
export class DialectStream<E extends RoundEnd> implements AsyncIterableIterator<string, undefined> {
  private readonly work: DialectWork;
  private readonly ready: string[];
  private readonly meter: TurnMeter;
  private round: Round<E>;
  /** All delivered events, if a retry may need them. */
  private readonly written: string[] = [];
  private finished = false;
  /** Set if it was ended from elsewhere; then nothing more is delivered. */
  private isCut = false;
  private readonly kept: KeptStream | null;

  constructor(
    private readonly form: StreamForm<E>,
    first: StreamedRound,
  ) {
    this.work = form.work;
    this.ready = form.log.ready;
    form.begin(first);
    this.round = this.roundOf(first);
    this.meter = new TurnMeter(this.work.turn, () => this.round);
    this.kept = form.kept ?? null;
    this.kept?.onStop((fault) => this.cut(fault));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.meter.waiting();
    const isUnderWay = this.ready.length === 0 && !this.finished && this.meter.fault === null;
    return isUnderWay ? this.round.step().then(this.onStep, this.onBroken) : this.step();
  }

  /** The fast path for nearly every event: it arrives and is delivered without an async function in between. */
  private readonly onStep = (isOpen: boolean): Step | Promise<Step> => {
    if (!isOpen || this.isCut) return this.step(isOpen);
    const event = this.ready.shift();
    return event === undefined ? this.step() : this.handedOut(event);
  };

  private readonly onBroken = async (error: unknown): Promise<Step> => {
    const fault = await this.failed(error);
    return this.isCut ? this.cutEnd() : Promise.reject(fault);
  };

  /** @param isOpen false if the round has just ended */
  private async step(isOpen = true): Promise<Step> {
    try {
      const event = isOpen && !this.isCut ? this.ready.shift() : undefined;
      const value = event ?? (await this.advance(isOpen));
      if (!this.isCut) return this.handedOut(value);
    } catch (error) {
      if (!this.isCut) throw error;
    }
    return this.finished ? DONE : await this.cutEnd();
  }

  private handedOut(value: string | null): Step {
    this.meter.handedOut();
    if (value === null) return DONE;
    this.kept?.take(value);
    if (this.work.turn.call.unchargedAnswers !== undefined) this.written.push(value);
    return { done: false, value };
  }

  async return(): Promise<Step> {
    if (this.work.turn.call.idempotencyKey !== null) this.finishAlone();
    else {
      this.meter.leave(null);
      await this.meter.ended();
      await this.breakOff('cancelled', null);
    }
    return DONE;
  }

  /** Ends the stream from elsewhere, even if its reader reads nothing. */
  private cut(fault: ApiError): void {
    this.meter.leave(fault);
    if (this.meter.fault === null) return;
    this.isCut = true;
    // Others that wait for the end read it in the database. Only the reader gets an error of the charge.
    this.left().catch(() => undefined);
  }

  /** The last event for its reader. @throws ApiError if its caller has not cancelled it */
  private async cutEnd(): Promise<Step> {
    const fault = await this.left();
    this.finished = true;
    const { cancelled = null } = this.form;
    if (cancelled === null) throw fault;
    return this.handedOut(cancelled);
  }

  /** The next event to deliver, or null at the end. @param open false if the round has just ended. @throws ApiError */
  private async advance(open: boolean): Promise<string | null> {
    let isOpen = open;
    while (!this.finished && !this.isCut) {
      if (this.meter.fault !== null) throw await this.left();
      try {
        if (!isOpen || !(await this.round.step())) await this.endRound();
      } catch (error) {
        throw await this.failed(error);
      }
      isOpen = true;
      const event = this.ready.shift();
      if (event !== undefined) return event;
    }
    return this.ready.shift() ?? null;
  }

  private async endRound(): Promise<void> {
    const { form, work, meter } = this;
    const end = this.round.end();
    work.addUsage(end.reported);
    const cost = await meter.count(end.reported);
    if (!needsAnotherRound(end, work.rounds) || meter.over) return await this.finish(end, cost);
    await form.nextRound(end, cost);
    if (meter.over) return;
    meter.endRound();
    this.round = this.roundOf(await work.turn.stream());
    meter.beginRound();
  }

  /** Stores the answer, charges it, then delivers its end. */
  private async finish(end: E, cost: Tokens): Promise<void> {
    const { form, work, meter } = this;
    const { model } = this.round;
    if (meter.over) return;
    form.writeFinalEvents(end, { model, tokens: work.turn.spentWith(cost) });
    const unseen = work.turn.call.unchargedAnswers !== undefined;
    if (unseen) await keepTexts(work.turn, work.keptAs, [...this.written, ...this.ready]);
    await form.save();
    const settled = await meter
      .finish(cost, { messageId: work.id, model, unseen })
      .catch(async (error: unknown) => {
        await work.forget().catch(() => undefined);
        throw error;
      });
    if (settled === null) return await work.forget();
    await form.settled?.();
    this.finished = true;
  }

  /** Ends the stream because the upstream failed, or the answer could not be stored. @returns the caller's error */
  private async failed(error: unknown): Promise<ApiError> {
    const { meter, work } = this;
    if (meter.fault !== null) return await this.left();
    // The prepared last events are dropped, because the answer did not reach its end.
    this.ready.length = 0;
    const isConflict = error instanceof ApiError && error.code === 'conflict';
    const fault = await meter.failed(error, {
      model: this.round.model,
      ...(isConflict ? { isFree: true } : {}),
    });
    if (isConflict) await work.forget();
    if (!isConflict || this.kept?.isOpen === true) await this.breakOff('failed', fault);
    return fault;
  }

  /** Ends the stream because the reader has disconnected or the process stops. */
  private async left(): Promise<ApiError> {
    await this.meter.ended();
    const { fault } = this.meter;
    if (this.work.turn.caller.stopped) await this.breakOff('failed', fault);
    else await this.breakOff('cancelled', null);
    return fault ?? new ApiError('server_error', 'Generation failed');
  }

  private async breakOff(status: BrokenOff['status'], fault: ApiError | null): Promise<void> {
    if (!this.finished) await this.form.breakOff(this.round, { status, fault });
  }

  /** A call with an Idempotency-Key continues without its reader, is charged completely, and can be replayed. */
  private finishAlone(): void {
    const drain = async (): Promise<void> => {
      while (!(await this.next()).done);
    };
    if (!this.finished) drain().catch(() => undefined);
  }

  private roundOf(found: StreamedRound): Round<E> {
    return this.form.roundOf(found, (literal) => this.meter.deliverJson(literal));
  }
}
