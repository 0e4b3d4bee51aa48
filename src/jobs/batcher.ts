/** Collects calls while an earlier batch runs, so that they share one round trip and one commit. */
export interface Batcher<Item, Answer> {
  /** Rejects with what `run` threw for it. */
  add(item: Item): Promise<Answer>;
}

interface Waiting<Item, Answer> {
  item: Item;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * @param options `run` returns one value for each item, in order, and must be one transaction. If a batch of several items fails, each item is
 * tried alone, so that one bad item does not affect the others. `retryable` decides for which errors that is allowed.
 */
export function createBatcher<Item, Answer>(options: {
  run(items: Item[]): Promise<Answer[]>;
  retryable(error: unknown): boolean;
  maxBatch: number;
}): Batcher<Item, Answer> {
  const { run, retryable, maxBatch } = options;
  let queue: Waiting<Item, Answer>[] = [];
  let running = false;

  async function runOne(waiting: Waiting<Item, Answer>): Promise<void> {
    try {
      const [answer] = await run([waiting.item]);
      waiting.resolve(answer as Answer);
    } catch (error) {
      waiting.reject(error);
    }
  }

  async function runBatch(batch: Waiting<Item, Answer>[]): Promise<void> {
    if (batch.length === 1) return runOne(batch[0] as Waiting<Item, Answer>);
    try {
      const answers = await run(batch.map(({ item }) => item));
      batch.forEach((waiting, index) => waiting.resolve(answers[index] as Answer));
    } catch (error) {
      if (!retryable(error)) batch.forEach((waiting) => waiting.reject(error));
      else for (const waiting of batch) await runOne(waiting);
    }
  }

  async function drain(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await runBatch(batch);
    }
    running = false;
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        // Calls of the same turn of the event loop join the batch.
        if (!running && queue.length === 1) setImmediate(() => void drain());
      }),
  };
}

/** Whether PostgreSQL itself reported the error: then the transaction was certainly rolled back, and a repetition changes nothing twice. */
export function wasRolledBack(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('08') && !code.startsWith('57')
  );
}
