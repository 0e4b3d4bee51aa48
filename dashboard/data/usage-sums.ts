import { useMemo } from 'react';
import { callFilterOf, type CallSearch } from './call-filter.js';
import { barsOf, barsWithin, colouredOf, type Bar } from './bars.js';
import type { Fault } from './fault.js';
import { useQuery } from './hooks.js';
import { NAMED_AND_ALL, SUMMARY, timeZone, totalsOf, type Total, type UsageFilter } from './usage.js';
import {
  intervalIn,
  rangeOf,
  startsIn,
  type Dimension,
  type Interval,
  type Measure,
  type Range,
  type UsageSearch,
} from './usage-filter.js';

/** The parameters of the queries, from the address. */
export interface UsageParameters {
  range: Range;
  interval: Interval;
  by: Dimension;
  measure: Measure;
  filter: UsageFilter;
}

/** Returns equal parameters for equal addresses, so that the cache recognises the query. */
export function useUsageParameters(search: UsageSearch): UsageParameters {
  const named = JSON.stringify(search);
  return useMemo(() => {
    const given = JSON.parse(named) as UsageSearch;
    const range = rangeOf(given);
    return {
      range,
      interval: intervalIn(range, given.interval),
      by: given.by ?? 'model',
      measure: given.count ?? 'requests',
      filter: callFilterOf(given),
    };
  }, [named]);
}

/** The total of each name over the whole range, the largest first. */
export function useTotals({ range, filter, measure }: UsageParameters, by: Dimension) {
  const { data, fault, isLoading, reload } = useQuery(SUMMARY, {
    ...range,
    filter,
    timeZone,
    groupBy: [by],
    // Months give the fewest rows, and only the total of the range is needed.
    interval: 'month',
  });
  const rows = data?.usageSummary;
  const totals = useMemo(() => rows && totalsOf(rows, by, measure), [rows, by, measure]);
  return { totals, fault, isLoading, reload };
}

/** An answer with at most this many rows is far below the server's limit. */
const FEW_ROWS = 4000;

const LISTS = {
  model: 'models',
  key: 'keyIds',
  endUser: 'endUsers',
  operation: 'operations',
} as const;

/** The bars of a chart, and the names that have a colour in them. */
export interface Chart {
  bars: Bar[] | undefined;
  names: (string | null)[];
  fault: Fault | undefined;
  isLoading: boolean;
  reload(): void;
}

/** The bars of each name. If there are too many names, only the names with a colour are requested, and the sum of all. */
export function useBars(
  { range, interval, by, measure, filter }: UsageParameters,
  totals: readonly Total[],
): Chart {
  const starts = useMemo(() => startsIn(range, interval), [range, interval]);
  const isMany = by !== 'tag' && totals.length * starts.length > FEW_ROWS;
  const names = colouredOf(isMany ? totals.filter(({ name }) => name !== null) : totals);
  const asked = { ...range, interval, timeZone, groupBy: [by], filter };
  const named: UsageFilter = isMany ? { ...filter, [LISTS[by as keyof typeof LISTS]]: names } : filter;
  const whole = useQuery(SUMMARY, asked, isMany);
  const some = useQuery(NAMED_AND_ALL, { ...asked, named }, !isMany);
  const query = { starts, by, measure, names };
  if (isMany) {
    const { data, ...rest } = some;
    return { ...rest, names, bars: data && barsWithin(data.named, data.all, query) };
  }
  const { data, ...rest } = whole;
  return { ...rest, names, bars: data && barsOf(data.usageSummary, query) };
}

/** The filter of the address that selects one name of a dimension. */
export const searchFor = (by: Dimension, name: string): CallSearch => ({ [by]: name });
