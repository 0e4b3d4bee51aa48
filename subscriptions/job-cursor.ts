import type { JobEvent } from '../src/jobs/jobs.types.js';
import { isTerminal, type JobChannel, type Sequenced } from './job-channel.js';
import { StalledSubscriberError } from './stalled.js';

/**
 * One subscriber's place in one job's events. Its queue is the channel's memory, bounded by how far it may lag once it has caught
 * up: so a thousand subscribers of a job hold its events once.
 */
export class JobCursor<Event extends Sequenced = JobEvent> implements AsyncIterableIterator<Event> {
  /** Marks a stream that its client can resume: a stopping process may end it at any time. */
  readonly resumable = true;
  #at: number;
  #done = false;
  #caughtUp = false;
  #failure: Error | null = null;
  #wake: (() => void) | null = null;
  #pending: Event[] = [];
  /** Calls of `next` that are not answered. */
  #asked = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #unlisten: () => void;

  /**
   * @param after the sequence of the last event that the subscriber has
   * @param maxLag events that may wait for a subscriber before it counts as stalled
   * @param onClose called once
   * @param isLast whether the stream ends with this event
   */
  constructor(
    private readonly channel: JobChannel<Event>,
    after: number,
    private readonly maxLag: number,
    private readonly onClose: () => void,
    private readonly isLast: (event: Event) => boolean = (event) => isTerminal(event as unknown as JobEvent),
  ) {
    this.#at = after;
    this.#unlisten = channel.listen((event) => this.#arrived(event));
  }

  /** Calls are answered one after the other, however many wait. */
  next(): Promise<IteratorResult<Event>> {
    this.#asked++;
    const turn = this.#turn.then(() => this.#next()).finally(() => this.#asked--);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The next event where it is at hand and nobody waits for one; null where it must be awaited. */
  atHand(): Event | null {
    if (this.#asked > 0 || this.#done || this.#failure) return null;
    if (this.#pending.length === 0) {
      const more = this.channel.since(this.#at);
      if (more === null || more.length === 0) return null;
      this.#pending = more;
    }
    const event = this.#pending.shift();
    if (event === undefined) return null;
    this.#deliver(event);
    return event;
  }

  return(): Promise<IteratorResult<Event>> {
    this.#close();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #next(): Promise<IteratorResult<Event>> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      if (this.#done) return { value: undefined, done: true };
      const event = this.#pending.shift();
      if (event) return this.#deliver(event);
      await this.#fill();
    }
  }

  /** Fetches what comes next, or waits for it. The look and the wait are in one turn, so that no event falls between. */
  async #fill(): Promise<void> {
    if (this.channel.since(this.#at)?.length === 0) {
      this.#caughtUp = true;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      return;
    }
    try {
      this.#pending = await this.channel.page(this.#at);
    } catch (error) {
      this.#close();
      throw error;
    }
    // Sequences have no holes: an empty page before the channel's end means that the job was forgotten meanwhile.
    if (this.#pending.length === 0) this.#close();
  }

  #deliver(event: Event): IteratorResult<Event> {
    this.#at = event.sequence;
    if (this.isLast(event)) this.#close();
    return { value: event, done: false };
  }

  #arrived(event: Event): void {
    if (this.#caughtUp && event.sequence - this.#at > this.maxLag) {
      this.#failure = new StalledSubscriberError();
      this.#close();
    }
    this.#notify();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = null;
  }

  #close(): void {
    if (this.#done) return;
    this.#done = true;
    this.#pending = [];
    this.#unlisten();
    this.onClose();
    this.#notify();
  }
}
