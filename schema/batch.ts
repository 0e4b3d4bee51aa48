import type { CallContext } from '../src/metering/call-context.js';

interface Batch<Item> {
  ids: Set<string>;
  found: Promise<Map<string, Item>>;
}

/** The open batches of a call in this turn, by their read function. */
const open = new WeakMap<CallContext, Map<object, Batch<unknown>>>();

/** The function that reads many objects at once. All calls with the same function share a batch. */
export type ReadMany<Item> = (call: CallContext, ids: string[]) => Promise<Map<string, Item>>;

/** Reads one of many objects: all reads of one operation in the same turn share one call, so that a page of a list costs one statement. */
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
