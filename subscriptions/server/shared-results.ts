/** Results of shared events by (document, variables, authorisation scope): executed and serialised once for all their readers. */
export class SharedResults {
  readonly #byEvent = new WeakMap<object, Map<string, Promise<string>>>();

  /** The JSON text of the event's result. Only objects are shared; the memory goes with the event. */
  get(event: unknown, key: string, execute: () => Promise<string>): Promise<string> {
    if (typeof event !== 'object' || event === null) return execute();
    let results = this.#byEvent.get(event);
    if (!results) {
      results = new Map();
      this.#byEvent.set(event, results);
    }
    let result = results.get(key);
    if (!result) {
      result = execute();
      results.set(key, result);
    }
    return result;
  }
}
