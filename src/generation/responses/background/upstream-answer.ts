import type { LightAbortSignal } from '../../../collections/light-abort-signal.js';
import type { Hold } from '../../../jobs/index.js';
import type { Model } from '../../../models/models.types.js';
import { isFields, typeOfEvent, UpstreamError } from '../../../providers/index.js';
import type { BackgroundAnswers, NativeEvent, NativeEvents, Provider } from '../../../providers/index.js';
import type { ChatEngine } from '../../chat/engine.js';
import { backOff } from '../../pipeline/upstreams.js';
import { ResponseLost } from './batches.js';
import type { ResponseWriter, WorkRow } from './moves.queries.js';

/** The time limit for cancelling and deleting an answer at its upstream. */
const PARTING_MS = 5000;
const BEGUN = /^response\.(?:created|in_progress|queued)$/;
const ENDED = /^response\.(?:completed|incomplete|failed|cancelled)$/;
const SEQUENCE = /"sequence_number":\s*(\d+)/;

/** The model of a requested answer, and the signal that ends the wait for it. */
interface Asked {
  model: Model;
  signal: LightAbortSignal;
}

/** An answer that its upstream continues by itself, and stores. */
interface Kept {
  id: string;
  model: Model;
  hasEnded: boolean;
}

interface Parts {
  hold: Hold;
  writer: Pick<ResponseWriter, 'storeUpstreamAnswer'>;
  engine: Pick<ChatEngine, 'options'>;
}

/** Whether a model's answers are requested in the upstream's background mode, so that it continues them by itself. */
export const usesUpstreamBackground = ({ upstream }: Model, { dialects }: Provider): boolean =>
  upstream?.background === true && dialects?.responses?.background !== undefined;

/** An upstream's answer for one response. The upstream continues it by itself, even if nobody reads it (beyond 12.5). */
export class UpstreamAnswer {
  private kept: Kept | null = null;
  private parting: Promise<void> = Promise.resolve();

  /** @param row names the answer that an earlier worker requested, if there is one */
  constructor(
    private readonly parts: Parts,
    { upstream_model: asked, upstream_id: id }: Pick<WorkRow, 'upstream_model' | 'upstream_id'>,
  ) {
    const model = asked === null ? null : parts.engine.options.models.find(asked);
    if (id !== null && model !== null) this.kept = { id, model, hasEnded: false };
  }

  /** The events of an answer that this worker has requested. */
  follow(events: NativeEvents, asked: Asked): NativeEvents {
    return new FollowedEvents(this, { ...asked, kept: null, events });
  }

  /** All events of the answer that an earlier worker requested; null if there is none. */
  again(signal: LightAbortSignal): { model: Model; events: NativeEvents } | null {
    const { kept } = this;
    if (kept === null) return null;
    const { model } = kept;
    return { model, events: new FollowedEvents(this, { model, signal, kept, events: null }) };
  }

  /** Stores the id of an answer before its first event is delivered. @throws ResponseLost */
  async begun(id: string, model: Model): Promise<Kept> {
    const kept = { id, model, hasEnded: false };
    this.kept = kept;
    const { hold, writer } = this.parts;
    if (await writer.storeUpstreamAnswer(hold, { model: model.id, id })) return kept;
    // The worker that now holds the response does not know this answer.
    void this.leave();
    throw new ResponseLost();
  }

  /** The provider is looked up each time, because a reload may have replaced it. */
  providerOf({ upstream }: Model): Provider | null {
    return this.parts.engine.options.providers.find(upstream?.providerId ?? '');
  }

  /** @throws UpstreamError if its provider no longer has background answers */
  answersOf(model: Model): BackgroundAnswers {
    const found = this.providerOf(model)?.dialects?.responses?.background;
    if (found) return found;
    throw new UpstreamError('No background answers at this provider', { status: 404, retryable: false });
  }

  /**
   * Cancels and deletes the answer at its upstream, because nobody needs it any more. Failures are only logged.
   * @param isGone whether the upstream no longer knows the answer
   */
  leave({ isGone } = { isGone: false }): Promise<void> {
    const { kept } = this;
    this.kept = null;
    if (kept !== null && !isGone) this.parting = this.parting.then(() => this.part(kept));
    return this.parting;
  }

  private async part({ id, model, hasEnded }: Kept): Promise<void> {
    const signal = AbortSignal.timeout(PARTING_MS);
    const tell = async (what: 'cancel' | 'forget'): Promise<void> => {
      try {
        await this.answersOf(model)[what](id, signal);
      } catch (error) {
        const { logger } = this.parts.engine.options;
        logger.warn(
          { model: model.id, what, reason: (error as Error).message },
          'an upstream kept an answer',
        );
      }
    };
    if (!hasEnded) await tell('cancel');
    await tell('forget');
  }
}

interface Following extends Asked {
  /** Null until an event contains its id. */
  kept: Kept | null;
  /** Null if they must be requested. */
  events: NativeEvents | null;
}

/** The events of an upstream's answer. If the connection breaks, it requests the rest. */
class FollowedEvents implements NativeEvents {
  private events: NativeEvents | null;
  private kept: Kept | null;
  /** The upstream's number of the last event; null if there was none. */
  private last: number | null = null;
  private hasRead = false;

  constructor(
    private readonly answer: UpstreamAnswer,
    private readonly following: Following,
  ) {
    ({ events: this.events, kept: this.kept } = following);
  }

  async next(): Promise<NativeEvent | null> {
    for (;;) {
      const event = await this.read();
      if (event === null) return null;
      if (this.isKnown(event)) continue;
      await this.note(event);
      return event;
    }
  }

  cancel(): void {
    this.events?.cancel();
  }

  private async read(): Promise<NativeEvent | null> {
    const { signal, model } = this.following;
    for (let tries = 0; ; tries++) {
      try {
        this.events ??= await this.rest();
        return await this.events.next();
      } catch (error) {
        this.events = null;
        const retry = this.answer.providerOf(model)?.retry;
        if (retry === undefined || tries >= retry.retries || !this.mayAskAgain(error)) throw this.lost(error);
        await backOff(error.options.retryAfterMs ?? retry.backoffMs * 2 ** tries, signal);
      }
    }
  }

  private async rest(): Promise<NativeEvents> {
    const { kept, last: after, following } = this;
    if (kept === null) throw new Error('an answer without its id');
    const { signal, model } = following;
    return await this.answer.answersOf(model).resume(kept.id, { after, signal });
  }

  /** Whether the rest can be requested. It cannot if the upstream no longer knows the answer, or does not number its events. */
  private mayAskAgain(error: unknown): error is UpstreamError {
    if (this.kept === null || (this.hasRead && this.last === null)) return false;
    if (!(error instanceof UpstreamError) || error.fault !== 'failed') return false;
    return error.options.retryable || error.options.status === null;
  }

  private lost(error: unknown): unknown {
    if (error instanceof UpstreamError && error.fault !== 'aborted')
      void this.answer.leave({ isGone: error.options.status === 404 });
    return error;
  }

  /** Whether an event was already read before its connection broke. */
  private isKnown({ data }: NativeEvent): boolean {
    const { last } = this;
    this.hasRead = true;
    const found = SEQUENCE.exec(data)?.[1];
    if (found === undefined) return false;
    if (last !== null && Number(found) <= last) return true;
    this.last = Number(found);
    return false;
  }

  private async note(event: NativeEvent): Promise<void> {
    const type = typeOfEvent(event);
    if (this.kept === null && BEGUN.test(type)) {
      const id = idIn(event);
      if (id !== null) this.kept = await this.answer.begun(id, this.following.model);
    }
    if (this.kept !== null && ENDED.test(type)) this.kept.hasEnded = true;
  }
}

function idIn({ data }: NativeEvent): string | null {
  try {
    const parsed = JSON.parse(data) as unknown;
    const response = isFields(parsed) ? parsed['response'] : null;
    const id = isFields(response) ? response['id'] : null;
    return typeof id === 'string' && id !== '' ? id : null;
  } catch {
    return null;
  }
}
