/** Gathers calls that come while an earlier batch is under way, so that they share a round trip and a commit. */
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
 * @param options `run` answers one value for each item, in order. Where a batch of several fails, each of its items is tried by
 * itself, so that one bad item hurts nobody: `run` must be one transaction. `retryable` tells which faults that may follow.
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
        // Calls of the same turn of the event loop come along.
        if (!running && queue.length === 1) setImmediate(() => void drain());
      }),
  };
}

/** A fault that PostgreSQL itself reported: the transaction was rolled back for certain, trying again changes nothing twice. */
export function wasRolledBack(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('08') && !code.startsWith('57')
  );
}
