import type { Model } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { OpenAnswer } from '../chat/open.js';
import type { Round, RoundEnd } from './rounds.js';
import type { Turn } from './turn.js';

/** A round of an upstream with the dialect that a chat can continue. */
export interface Continuable<E extends RoundEnd> {
  round: Round<E>;
  /** @returns the function that continues the round with a chat; null if the round delivered more than text, or has ended */
  rest(): ((chat: OpenAnswer, text: string) => Round<E>) | null;
}

interface Options<E extends RoundEnd> {
  turn: Turn;
  model: Model;
  /** @param deliver takes each text that was delivered, as JSON */
  begin(deliver: (literal: string) => void): Continuable<E>;
  deliver(literal: string): void;
}

/**
 * A round of an upstream with the dialect. If the upstream breaks off after it delivered only text, a model with `prefill` continues that text,
 * and the caller gets one answer (beyond 12.6).
 */
class ContinuedRound<E extends RoundEnd> implements Round<E> {
  readonly model: Model;
  private readonly begun: Continuable<E>;
  private round: Round<E>;
  /** Delivered texts as JSON; null after another model has taken over. */
  private delivered: string[] | null = [];
  private isCancelled = false;

  constructor(private readonly options: Options<E>) {
    this.begun = options.begin((literal) => {
      this.delivered?.push(literal);
      options.deliver(literal);
    });
    this.round = this.begun.round;
    this.model = this.round.model;
  }

  step(): Promise<boolean> {
    return this.delivered === null ? this.round.step() : this.round.step().catch(this.onBroken);
  }

  private readonly onBroken = async (error: unknown): Promise<boolean> => {
    const { begun, delivered, isCancelled } = this;
    const isBroken = error instanceof UpstreamError && error.fault === 'failed';
    const rest = isBroken && !isCancelled ? begun.rest() : null;
    if (rest === null || delivered === null || delivered.length === 0) throw error;
    this.delivered = null;
    const text = (JSON.parse(`[${delivered.join()}]`) as string[]).join('');
    begun.round.cancel();
    const chat = await this.options.turn.continueText({
      model: this.model,
      text,
      ...begun.round.upstreamReport(),
    });
    if (chat === null) throw error;
    this.round = rest(chat, text);
    if (this.isCancelled) this.round.cancel();
    return true;
  };

  end(): E {
    return this.round.end();
  }

  breakOff(): void {
    this.round.breakOff();
  }

  cancel(): void {
    this.isCancelled = true;
    this.round.cancel();
  }

  upstreamReport() {
    return this.round.upstreamReport();
  }
}

/** A round of an upstream that speaks the dialect: one that can be continued, if a fallback could do that. */
export function roundOfDialect<E extends RoundEnd>(options: Options<E>): Round<E> {
  const { turn, model, begin, deliver } = options;
  return turn.canContinue(model) ? new ContinuedRound(options) : begin(deliver).round;
}
