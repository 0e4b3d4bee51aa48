import type { CallContext } from '../src/metering/call-context.js';

interface Batch<Item> {
  ids: Set<string>;
  found: Promise<Map<string, Item>>;
}

/** One of the batches of a call that are open in this turn, by what they read. */
const open = new WeakMap<CallContext, Map<object, Batch<unknown>>>();

/** What reads many at once. It is the same for all that share a batch. */
export type ReadMany<Item> = (call: CallContext, ids: string[]) => Promise<Map<string, Item>>;

/** One of many: all that one operation asks for in the same turn share one read, so that a page of a list costs one statement. */
export async function loadOne<Item>(
  call: CallContext,
  id: string,
  { key, read }: { key: object; read: ReadMany<Item> },
): Promise<Item | null> {
  const batches = open.get(call) ?? new Map<object, Batch<unknown>>();
  open.set(call, batches);
  let batch = batches.get(key) as Batch<Item> | undefined;
  if (batch === undefined) {
    const ids = new Set<string>();
    const found = Promise.resolve().then(() => {
      batches.delete(key);
      return read(call, [...ids]);
    });
    batch = { ids, found };
    batches.set(key, batch);
  }
  batch.ids.add(id);
  return (await batch.found).get(id) ?? null;
}
