import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Tokens } from '../chat/usage.js';
import { keepTexts } from './made.js';
import { TurnMeter } from './meter.js';
import { goesOn } from './rounds.js';
import type { Round, RoundEnd } from './rounds.js';
import type { StreamedRound } from './turn.js';
import type { DialectWork } from './work.js';

type Step = IteratorResult<string, undefined>;
const DONE: Step = { done: true, value: undefined };

/** How an answer ends that is not told whole. */
export interface BrokenOff {
  status: 'failed' | 'cancelled';
  /** What the caller is told. */
  fault: ApiError | null;
}

/** How a dialect writes a streamed answer. */
export interface StreamForm<E extends RoundEnd> {
  work: DialectWork;
  /** Events that are written and not yet handed out. */
  log: { readonly ready: string[] };
  /** Writes the events before a first round. */
  begin(first: StreamedRound): void;
  /** @param deliver takes a text that was delivered, as JSON */
  roundOf(found: StreamedRound, deliver: (literal: string) => void): Round<E>;
  /** Runs the searches of a round that cost so much, with their events, and goes on. @throws ApiError */
  nextRound(end: E, cost: Tokens): Promise<void>;
  /** Writes the last events. @param tokens of all rounds @throws where there is no answer */
  tellEnd(end: E, of: { model: Model; tokens: Tokens }): void;
  /** Stores the answer where it is to be stored. @throws what the database does */
  save(): Promise<void>;
  /** Stores what came of an answer that is not told whole, where it is to be stored. Fails never; may be called again. */
  breakOff(round: Round<E>, how: BrokenOff): Promise<void>;
}

/**
 * A streamed answer on its way to its reader, with the rounds that its searches make of it. Its one end is the meter's: it is kept and
 * charged before its last events go out.
 */
export class DialectStream<E extends RoundEnd> implements AsyncIterableIterator<string, undefined> {
  private readonly work: DialectWork;
  private readonly ready: string[];
  private readonly meter: TurnMeter;
  private round: Round<E>;
  /** All that was handed out, where a retry may want it. */
  private readonly written: string[] = [];
  private finished = false;

  constructor(
    private readonly form: StreamForm<E>,
    first: StreamedRound,
  ) {
    this.work = form.work;
    this.ready = form.log.ready;
    form.begin(first);
    this.round = this.roundOf(first);
    this.meter = new TurnMeter(this.work.turn, () => this.round);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.meter.waiting();
    const isUnderWay = this.ready.length === 0 && !this.finished && this.meter.fault === null;
    return isUnderWay ? this.round.step().then(this.onStep, this.onBroken) : this.step();
  }

  /** Nearly every step of a stream: an event comes and is handed out, without an async function in between. */
  private readonly onStep = (isOpen: boolean): Step | Promise<Step> => {
    if (!isOpen) return this.step(false);
    const event = this.ready.shift();
    return event === undefined ? this.step() : this.handedOut(event);
  };

  private readonly onBroken = async (error: unknown): Promise<never> => {
    throw await this.failed(error);
  };

  /** @param isOpen false: the round has just ended */
  private async step(isOpen = true): Promise<Step> {
    const event = isOpen ? this.ready.shift() : undefined;
    return this.handedOut(event ?? (await this.advance(isOpen)));
  }

  private handedOut(value: string | null): Step {
    this.meter.handedOut();
    if (value === null) return DONE;
    if (this.work.turn.call.madeAnswers !== undefined) this.written.push(value);
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

  /** The next event to hand out, or null at the end. @param open false: the round has just ended. @throws ApiError */
  private async advance(open: boolean): Promise<string | null> {
    let isOpen = open;
    while (!this.finished) {
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
    if (!goesOn(end, work.rounds) || meter.over) return await this.finish(end, cost);
    await form.nextRound(end, cost);
    if (meter.over) return;
    meter.endRound();
    this.round = this.roundOf(await work.turn.stream());
    meter.beginRound();
  }

  /** Keeps, charges, then tells the end. */
  private async finish(end: E, cost: Tokens): Promise<void> {
    const { form, work, meter } = this;
    const { model } = this.round;
    if (meter.over) return;
    form.tellEnd(end, { model, tokens: work.turn.spentWith(cost) });
    const unseen = work.turn.call.madeAnswers !== undefined;
    if (unseen) await keepTexts(work.turn, work.keptAs, [...this.written, ...this.ready]);
    await form.save();
    const settled = await meter
      .finish(cost, { messageId: work.id, model, unseen })
      .catch(async (error: unknown) => {
        await work.forget().catch(() => undefined);
        throw error;
      });
    if (settled === null) return await work.forget();
    this.finished = true;
  }

  /** The upstream failed, or the answer could not be kept. @returns the error to tell */
  private async failed(error: unknown): Promise<ApiError> {
    const { meter, work } = this;
    if (meter.fault !== null) return await this.left();
    // An event of an end that was not reached is not told.
    this.ready.length = 0;
    const isConflict = error instanceof ApiError && error.code === 'conflict';
    const fault = await meter.failed(error, {
      model: this.round.model,
      ...(isConflict ? { isFree: true } : {}),
    });
    if (isConflict) await work.forget();
    else await this.breakOff('failed', fault);
    return fault;
  }

  /** The reader has gone, or the process ends. */
  private async left(): Promise<ApiError> {
    await this.meter.ended();
    await this.breakOff('cancelled', null);
    return this.meter.fault ?? new ApiError('server_error', 'Generation failed');
  }

  private async breakOff(status: BrokenOff['status'], fault: ApiError | null): Promise<void> {
    if (!this.finished) await this.form.breakOff(this.round, { status, fault });
  }

  /** A call with an Idempotency-Key goes on without its reader, is charged whole, and can be replayed. */
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
