/** The results of shared events for the readers of one scope: executed and serialised once for all of them. */
export class SharedScope {
  /** The cached results are freed with the event. */
  readonly #byEvent = new WeakMap<object, Buffer | Promise<Buffer>>();

  /** The event's result as JSON bytes, without a promise if it is already there: then readers of a burst need no microtask for each event. */
  find(event: unknown): Buffer | Promise<Buffer> | undefined {
    return this.#byEvent.get(event as object);
  }

  /** As {@link find}, but executes if no reader has done so. Only results of object events are shared. */
  make(event: unknown, execute: () => Written | Promise<Written>): Buffer | Promise<Buffer> {
    const result = toBytes(execute());
    if (typeof event !== 'object' || event === null) return result;
    this.#byEvent.set(event, result);
    if (result instanceof Promise) {
      void result.then(
        (bytes) => this.#byEvent.set(event, bytes),
        () => undefined,
      );
    }
    return result;
  }
}

/** Scopes by (document, variables, authorisation), while they have readers. */
export class SharedResults {
  readonly #scopes = new Map<string, { scope: SharedScope; readers: number }>();

  /** Adds a reader of the scope; `close` it. */
  open(key: string): { scope: SharedScope; close(): void } {
    let shared = this.#scopes.get(key);
    if (!shared) this.#scopes.set(key, (shared = { scope: new SharedScope(), readers: 0 }));
    const { scope } = shared;
    const own = shared;
    own.readers += 1;
    return {
      scope,
      close: () => {
        if (--own.readers === 0) this.#scopes.delete(key);
      },
    };
  }
}

/** JSON: the bytes of a long one. */
export type Written = string | Buffer;

function toBytes(written: Written | Promise<Written>): Buffer | Promise<Buffer> {
  if (written instanceof Promise) return written.then((whole) => toBytes(whole));
  return typeof written === 'string' ? Buffer.from(written) : written;
}
