/** A subscriber's stream of one changing value. An unread value is replaced by the next one, so that no subscriber falls behind. */
export class LatestValue<T> implements AsyncIterableIterator<T> {
  /** Marks a stream that its client can resume: a stopping process may end it at any time. */
  readonly resumable = true;
  #latest: T | null = null;
  #isDone = false;
  readonly #waiting: ((result: IteratorResult<T>) => void)[] = [];

  constructor(private readonly onClose: () => void) {}

  set(value: T): void {
    if (this.#isDone) return;
    const reader = this.#waiting.shift();
    if (reader === undefined) this.#latest = value;
    else reader({ value, done: false });
  }

  /** The value if there is a new one; null if it must be awaited. */
  poll(): T | null {
    const value = this.#latest;
    this.#latest = null;
    return value;
  }

  next(): Promise<IteratorResult<T>> {
    const value = this.poll();
    if (value !== null) return Promise.resolve({ value, done: false });
    if (this.#isDone) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<T>> {
    if (!this.#isDone) {
      this.#isDone = true;
      this.#latest = null;
      for (const reader of this.#waiting.splice(0)) reader({ value: undefined, done: true });
      this.onClose();
    }
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
