import type { JobsFilter } from '@penstock/client';
import { useEffect, useState } from 'react';
import { graphql, type ResultOf, type VariablesOf } from './graphql.js';
import { usePlace } from './hooks.js';
import type { JobRow } from './jobs.js';

const CHARGES = graphql(`
  query JobCharges($filter: JobFilter, $first: Int, $after: String) {
    jobs(filter: $filter, first: $first, after: $after) {
      nodes {
        id
        usage {
          amounts {
            bucket
            amount
          }
        }
      }
      nextCursor
    }
  }
`);

type Charged = ResultOf<typeof CHARGES>['jobs']['nodes'][number];
/** The charged amount of each bucket. */
export type Amounts = NonNullable<Charged['usage']>['amounts'];
/** The charges of jobs, by job id. */
export type Charges = ReadonlyMap<string, Amounts>;

const PAGE = 100;
/** Jobs that end within this time are read with one request. */
const GATHER_MS = 300;

/** The charges of a list's jobs that have ended. A job that is missing has no known charge yet. */
export function useCharges(jobs: readonly JobRow[] | undefined, { filter }: JobsFilter): Charges {
  const { api } = usePlace();
  const [known, setKnown] = useState<Charges>(new Map());
  const wanted = (jobs ?? []).filter(({ id, completedAt }) => completedAt !== null && !known.has(id));
  const key = JSON.stringify(wanted.map(({ id }) => id));
  useEffect(() => {
    const missing = new Set(JSON.parse(key) as string[]);
    const asked = (filter ?? null) as VariablesOf<typeof CHARGES>['filter'];
    if (missing.size === 0) return undefined;
    const read = async (): Promise<void> => {
      const found = new Map<string, Amounts>();
      let after: string | null = null;
      do {
        const page: ResultOf<typeof CHARGES> = await api.request(CHARGES, {
          filter: asked,
          first: PAGE,
          after,
        });
        for (const { id, usage } of page.jobs.nodes)
          if (missing.delete(id)) found.set(id, usage?.amounts ?? []);
        after = page.jobs.nextCursor;
      } while (missing.size > 0 && after !== null);
      setKnown((before) => new Map([...before, ...found]));
    };
    // If the request fails, the list shows only the credits, which it already has.
    const timer = setTimeout(() => void read().catch(() => undefined), GATHER_MS);
    return () => clearTimeout(timer);
  }, [api, key, filter]);
  return known;
}
