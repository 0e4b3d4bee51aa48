import { useCallback, useState } from 'react';
import { usePlace } from '../data/hooks.js';
import type { Values } from './fields.js';

/** An entry of the history. */
export interface Work {
  /** The id of its job, if it has one. */
  id: string;
  title: string;
  /** ISO 8601. */
  at: string;
  /** The entered values without files, which would use up the browser's storage. */
  values: Values;
}

const MOST = 30;
/** Values with more characters than this are files. */
const LONGEST = 20_000;

const keep = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value.length <= LONGEST));

function read(key: string): Work[] {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? '[]') as unknown;
    return Array.isArray(found)
      ? (found as Work[]).filter(({ id, values }) => Boolean(id) && Boolean(values))
      : [];
  } catch {
    // Another program may have written invalid data, or the browser may have no storage.
    return [];
  }
}

function write(key: string, works: readonly Work[]): void {
  try {
    localStorage.setItem(key, JSON.stringify(works));
  } catch {
    // The browser has no storage left. The history then lasts only as long as the page.
  }
}

/** The history of one kind in this browser, newest first. */
export function useHistory(kind: string): {
  works: readonly Work[];
  add(work: Work): void;
  clear(): void;
} {
  const { organization, userId } = usePlace();
  const key = `penstock.playground.${organization.id}.${userId}.${kind}`;
  const [works, setWorks] = useState(() => read(key));
  const add = useCallback(
    (work: Work) => {
      const others = read(key).filter(({ id }) => id !== work.id);
      const next = [{ ...work, values: keep(work.values) }, ...others].slice(0, MOST);
      write(key, next);
      setWorks(next);
    },
    [key],
  );
  const clear = useCallback(() => {
    write(key, []);
    setWorks([]);
  }, [key]);
  return { works, add, clear };
}
