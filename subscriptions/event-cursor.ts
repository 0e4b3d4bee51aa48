import type { EventChannel, Sequenced } from './event-channel.js';
import { StalledSubscriberError } from './stalled-subscriber.js';

interface Asked<Event> {
  resolve(result: IteratorResult<Event>): void;
  reject(error: unknown): void;
}

export interface CursorOptions<Event> {
  /** The sequence of the last event that the subscriber has. */
  after: number;
  /** How many events may wait for a subscriber before it counts as stalled. */
  maxLag: number;
  /** Whether the stream ends with this event. */
  isLast(event: Event): boolean;
  /** Called once. */
  onClose(): void;
}

/**
 * One subscriber's position in one entity's events. Its queue is the channel's memory, limited by the maximum lag once it has caught up. So a
 * thousand subscribers of one entity share its events in memory.
 */
export class EventCursor<Event extends Sequenced> implements AsyncIterableIterator<Event> {
  /** Marks a stream that its client can resume: a stopping process may end it at any time. */
  readonly resumable = true;
  #at: number;
  #done = false;
  #caughtUp = false;
  #failure: Error | null = null;
  #pending: Event[] = [];
  /** Pending calls of `next`, in their order. */
  readonly #asked: Asked<Event>[] = [];
  #reading = false;
  readonly #unlisten: () => void;

  constructor(
    private readonly channel: EventChannel<Event>,
    private readonly options: CursorOptions<Event>,
  ) {
    this.#at = options.after;
    this.#unlisten = channel.listen((event) => this.#arrived(event));
  }

  /** Calls are answered one after the other, however many wait. */
  next(): Promise<IteratorResult<Event>> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#answer();
    });
  }

  /** The next event if it is in memory and no call waits; null if it must be awaited. */
  poll(): Event | null {
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
    if (this.options.isLast(event)) this.#end();
    return event;
  }

  /**
   * Resolves pending calls with events from memory; reads those that are missing. The check and the wait happen in one turn, so no notification
   * is missed.
   */
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
      // Sequences have no gaps: an empty page before the channel's end means that the entity was deleted meanwhile.
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
    if (this.#caughtUp && event.sequence - this.#at > this.options.maxLag) {
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
    this.options.onClose();
  }
}
