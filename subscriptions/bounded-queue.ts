import { StalledSubscriberError } from './stalled-subscriber.js';

/**
 * A subscriber's own queue, from which its connection takes items. If it is full, the subscriber is stalled: the items are dropped and the reader
 * gets a {@link StalledSubscriberError}. Other subscribers do not wait.
 */
export class BoundedQueue<T> implements AsyncIterableIterator<T> {
  /** Marks a stream that its client can resume: a stopping process may end it at any time. */
  readonly resumable = true;
  #items: T[] = [];
  #state: 'open' | 'ended' = 'open';
  #error: Error | null = null;
  #waiting: { resolve: (result: IteratorResult<T>) => void; reject: (error: Error) => void }[] = [];

  constructor(
    private readonly capacity: number,
    private readonly onClose: () => void,
  ) {}

  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  push(item: T): void {
    if (this.#state === 'ended') return;
    const reader = this.#waiting.shift();
    if (reader) {
      reader.resolve({ value: item, done: false });
    } else if (this.#items.length < this.capacity) {
      this.#items.push(item);
    } else {
      this.fail(new StalledSubscriberError());
    }
  }

  fail(error: Error): void {
    if (this.#state === 'ended') return;
    this.#error = error;
    this.#finish();
  }

  /** The next item if there is one; null if it must be awaited. */
  poll(): T | null {
    return this.#items.shift() ?? null;
  }

  next(): Promise<IteratorResult<T>> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve({ value: item, done: false });
    if (this.#error) {
      const error = this.#error;
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#state === 'ended') return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<T>> {
    this.#finish();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#items = [];
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const reader of waiting) {
      if (this.#error) reader.reject(this.#error);
      else reader.resolve({ value: undefined, done: true });
    }
    if (waiting.length > 0) this.#error = null;
    this.onClose();
  }
}
