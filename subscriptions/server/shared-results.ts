/** Results of shared events by (document, variables, authorisation scope): executed and serialised once for all their readers. */
export class SharedResults {
  readonly #byEvent = new WeakMap<object, Map<string, Promise<Buffer>>>();

  /** The event's result as JSON bytes. Only objects are shared; the memory goes with the event. */
  async get(event: unknown, key: string, execute: () => Promise<string>): Promise<Buffer> {
    if (typeof event !== 'object' || event === null) return Buffer.from(await execute());
    let results = this.#byEvent.get(event);
    if (!results) {
      results = new Map();
      this.#byEvent.set(event, results);
    }
    let result = results.get(key);
    if (!result) {
      result = execute().then((text) => Buffer.from(text));
      results.set(key, result);
    }
    return result;
  }
}
