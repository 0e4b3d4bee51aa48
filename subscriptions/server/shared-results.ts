/** Results of shared events by (document, variables, authorisation scope): executed and serialised once for all their readers. */
export class SharedResults {
  readonly #byEvent = new WeakMap<object, Map<string, Buffer | Promise<Buffer>>>();

  /**
   * The event's result as JSON bytes, without a promise where it is there already: readers of a burst then need no turn for each event. Only
   * objects are shared; the memory goes with the event.
   */
  get(event: unknown, key: string, execute: () => Promise<string> | string): Buffer | Promise<Buffer> {
    if (typeof event !== 'object' || event === null) return toBytes(execute());
    let results = this.#byEvent.get(event);
    if (!results) {
      results = new Map();
      this.#byEvent.set(event, results);
    }
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = toBytes(execute());
    results.set(key, result);
    if (result instanceof Promise) {
      const made = results;
      void result.then(
        (bytes) => made.set(key, bytes),
        () => undefined,
      );
    }
    return result;
  }
}

function toBytes(text: Promise<string> | string): Buffer | Promise<Buffer> {
  return typeof text === 'string' ? Buffer.from(text) : text.then((whole) => Buffer.from(whole));
}
