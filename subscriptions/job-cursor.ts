import type { JobEvent } from '../src/jobs/jobs.types.js';
import { isTerminal, type JobChannel, type Sequenced } from './job-channel.js';
import { StalledSubscriberError } from './stalled.js';

interface Asked<Event> {
  resolve(result: IteratorResult<Event>): void;
  reject(error: unknown): void;
}

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
  #pending: Event[] = [];
  /** Calls of `next` that are not answered, in their order. */
  readonly #asked: Asked<Event>[] = [];
  #reading = false;
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
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#answer();
    });
  }

  /** The next event where it is at hand and nobody waits for one; null where it must be awaited. */
  atHand(): Event | null {
    return this.#asked.length > 0 || this.#failure ? null : this.#take();
  }

  return(): Promise<IteratorResult<Event>> {
    this.#close();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Event | null {
    if (this.#done) return null;
    if (this.#pending.length === 0) {
      if (this.#at >= this.channel.last) {
        this.#caughtUp = true;
        return null;
      }
      const more = this.channel.since(this.#at);
      if (more === null) return null;
      if (more.length === 0) {
        this.#caughtUp = true;
        return null;
      }
      this.#pending = more;
    }
    const event = this.#pending.shift() as Event;
    this.#at = event.sequence;
    if (this.isLast(event)) this.#end();
    return event;
  }

  /** Answers whoever waits, as far as events are at hand; fetches those that are not. A look and the wait are in one turn. */
  #answer(): void {
    while (this.#asked.length > 0 && !this.#reading) {
      const event = this.#failure ? null : this.#take();
      if (event !== null) this.#asked.shift()?.resolve({ value: event, done: false });
      else if (this.#failure) this.#asked.shift()?.reject(this.#failure);
      else if (this.#done) this.#asked.shift()?.resolve({ value: undefined, done: true });
      else if (this.channel.reaches(this.#at)) return;
      else void this.#read();
    }
  }

  async #read(): Promise<void> {
    this.#reading = true;
    try {
      this.#pending = await this.channel.page(this.#at);
      // Sequences have no holes: an empty page before the channel's end means that the job was forgotten meanwhile.
      if (this.#pending.length === 0) this.#close();
    } catch (error) {
      this.#asked.shift()?.reject(error);
      this.#close();
    } finally {
      this.#reading = false;
    }
    this.#answer();
  }

  #arrived(event: Event): void {
    if (this.#caughtUp && event.sequence - this.#at > this.maxLag) {
      this.#failure = new StalledSubscriberError();
      this.#close();
    }
    this.#answer();
  }

  #close(): void {
    this.#end();
    this.#answer();
  }

  #end(): void {
    if (this.#done) return;
    this.#done = true;
    this.#pending = [];
    this.#unlisten();
    this.onClose();
  }
}
