import { readCallFilter, type CallSearch } from './call-filter.js';
import { endOfDay, startOfDay } from './days.js';
import { dayIn, wordIn } from './search.js';
import { BUCKET_UNITS } from './words.generated.js';

/** The number of days that can be chosen. */
export const DAYS = ['1', '7', '30', '90', '365'] as const;
/** The possible intervals of a bar. */
export const INTERVALS = ['hour', 'day', 'month'] as const;
/** The dimensions by which the chart can be split. */
export const DIMENSIONS = ['model', 'key', 'endUser', 'tag', 'operation'] as const;

type Bucket = keyof typeof BUCKET_UNITS;
/** The possible measures: calls, money, tokens, or the units of a bucket. */
export const MEASURES = [
  'requests',
  'errors',
  'cost',
  'tokens',
  ...(Object.keys(BUCKET_UNITS) as Bucket[]),
] as const;

export type Interval = (typeof INTERVALS)[number];
export type Dimension = (typeof DIMENSIONS)[number];
export type Measure = (typeof MEASURES)[number];

/** The search parameters of the usage view. `from` and `to` have priority over `days`. */
export interface UsageSearch extends CallSearch {
  days?: (typeof DAYS)[number] | undefined;
  from?: string | undefined;
  to?: string | undefined;
  interval?: Interval | undefined;
  by?: Dimension | undefined;
  count?: Measure | undefined;
}

/** @throws BadAddress */
export const readUsageFilter = (search: Record<string, unknown>): UsageSearch => ({
  ...readCallFilter(search),
  days: wordIn(search, 'days', DAYS),
  from: dayIn(search, 'from'),
  to: dayIn(search, 'to'),
  interval: wordIn(search, 'interval', INTERVALS),
  by: wordIn(search, 'by', DIMENSIONS),
  count: wordIn(search, 'count', MEASURES),
});

const DAY_MS = 86_400_000;
const USUAL_DAYS = 30;
/** Limits of a chart by hours and by days, so that its bars fit on a wide screen. */
const MOST_HOURS_MS = 31 * DAY_MS;
const MOST_DAYS_MS = 731 * DAY_MS;
/** If nobody chose an interval, a time up to these lengths is shown by hours or by days. */
const BY_HOURS_MS = 2 * DAY_MS;
const BY_DAYS_MS = 92 * DAY_MS;

/** Times in ISO 8601. Without `until` the range ends now. */
export interface Range {
  since: string;
  until?: string;
}

/** The start of a range of this many days that ends today, in the browser's time zone. */
function firstOf(days: number): Date {
  const at = new Date();
  if (days === 1) {
    at.setHours(at.getHours() - 23, 0, 0, 0);
    return at;
  }
  if (days === 365) at.setMonth(at.getMonth() - 11, 1);
  else at.setDate(at.getDate() - days + 1);
  at.setHours(0, 0, 0, 0);
  return at;
}

/** The time range of the address. */
export function rangeOf({ days = `${USUAL_DAYS}`, from, to }: UsageSearch): Range {
  if (from === undefined && to === undefined) return { since: firstOf(Number(days)).toISOString() };
  const until = to === undefined ? {} : { until: endOfDay(to) };
  if (from !== undefined) return { since: startOfDay(from), ...until };
  return { since: new Date(Date.parse(endOfDay(to ?? '')) - USUAL_DAYS * DAY_MS).toISOString(), ...until };
}

/** The length of a range, in milliseconds. */
const lengthOf = ({ since, until }: Range): number =>
  (until === undefined ? Date.now() : Date.parse(until)) - Date.parse(since);

/** The intervals into which a range may be divided. */
export function intervalsIn(range: Range): readonly Interval[] {
  const length = lengthOf(range);
  return INTERVALS.filter(
    (name) =>
      name === 'month' ||
      (name === 'day' && length <= MOST_DAYS_MS) ||
      (name === 'hour' && length <= MOST_HOURS_MS),
  );
}

/** The chosen interval if the range allows it, otherwise the usual one for the range's length. */
export function intervalIn(range: Range, chosen: Interval | undefined): Interval {
  if (chosen !== undefined && intervalsIn(range).includes(chosen)) return chosen;
  const length = lengthOf(range);
  if (length <= BY_HOURS_MS) return 'hour';
  return length <= BY_DAYS_MS ? 'day' : 'month';
}

/** The starts of all intervals of a range, in the browser's time zone. */
export function startsIn(range: Range, interval: Interval): string[] {
  const end = range.until === undefined ? Date.now() : Math.min(Date.parse(range.until), Date.now());
  const at = new Date(range.since);
  at.setMinutes(0, 0, 0);
  if (interval !== 'hour') at.setHours(0);
  if (interval === 'month') at.setDate(1);
  const starts: string[] = [];
  while (at.getTime() < end) {
    starts.push(at.toISOString());
    if (interval === 'hour') at.setTime(at.getTime() + DAY_MS / 24);
    else if (interval === 'day') at.setDate(at.getDate() + 1);
    else at.setMonth(at.getMonth() + 1);
  }
  return starts;
}
