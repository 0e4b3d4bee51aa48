import { callFilterOf, readCallFilter, type CallSearch } from './call-filter.js';
import { endOfDay, startOfDay } from './days.js';
import { dayIn } from './search.js';

/** The filter of the list of requests in its address. */
export interface RequestSearch extends CallSearch {
  from?: string | undefined;
  to?: string | undefined;
}

/** @throws BadAddress */
export const readRequestFilter = (search: Record<string, unknown>): RequestSearch => ({
  ...readCallFilter(search),
  from: dayIn(search, 'from'),
  to: dayIn(search, 'to'),
});

/** Converts the filter to the form that the API takes. */
export const requestFilterOf = ({ from, to, ...calls }: RequestSearch) => ({
  ...callFilterOf(calls),
  ...(from && { since: startOfDay(from) }),
  ...(to && { until: endOfDay(to) }),
});
