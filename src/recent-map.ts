/** A map that forgets: it holds between one and two times `size` entries, the newest. */
export interface RecentMap<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
}

/** Forgets by generations, so that no entry costs more than its own place. */
export function createRecentMap<Key, Value>(size: number): RecentMap<Key, Value> {
  let young = new Map<Key, Value>();
  let old = young;
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      if (young.size >= size) {
        old = young;
        young = new Map();
      }
      young.set(key, value);
    },
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
  };
}
