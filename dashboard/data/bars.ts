import { measured, nameIn, sumsOf, type Total, type UsageRow } from './usage.js';
import type { Dimension, Measure } from './usage-filter.js';

/** This many names have their own colour. All other names share one colour. */
export const COLOURS = 6;

/** The bar of one interval: the value of each name that has a colour, and the sum of all other names. */
export interface Bar {
  start: string;
  values: readonly number[];
  others: number;
}

/** Describes the bars of a chart. */
export interface BarsQuery {
  /** The starts of all intervals. An interval without usage has a bar, too. */
  starts: readonly string[];
  by: Dimension;
  measure: Measure;
  /** The names that have a colour, in the order of the colours. */
  names: readonly (string | null)[];
}

const byStart = (rows: readonly UsageRow[]): Map<string, UsageRow[]> => {
  const found = new Map<string, UsageRow[]>();
  for (const row of rows) found.set(row.start, [...(found.get(row.start) ?? []), row]);
  return found;
};

/** The names that get a colour. */
export const colouredOf = (totals: readonly Total[]): (string | null)[] =>
  totals.slice(0, COLOURS).map(({ name }) => name);

/** Makes bars from rows of all names. */
export function barsOf(rows: readonly UsageRow[], { starts, by, measure, names }: BarsQuery): Bar[] {
  const found = byStart(rows);
  // Rows whose start a change of the clock has shifted are shown, too.
  const all = [...new Set([...starts, ...found.keys()])].toSorted();
  return all.map((start) => {
    const ofStart = found.get(start) ?? [];
    const sum = (isMeant: (name: string | null) => boolean): number =>
      measured(sumsOf(ofStart.filter((row) => isMeant(nameIn(row, by)))), measure);
    return {
      start,
      values: names.map((name) => sum((one) => one === name)),
      others: sum((one) => !names.includes(one)),
    };
  });
}

/** Makes bars from rows of the names that have a colour. The value of all others is the total minus these names. */
export function barsWithin(named: readonly UsageRow[], all: readonly UsageRow[], query: BarsQuery): Bar[] {
  const whole = new Map(all.map((row) => [row.start, measured(sumsOf([row]), query.measure)]));
  const starts = [...query.starts, ...whole.keys()];
  return barsOf(named, { ...query, starts }).map((bar) => {
    const known = bar.values.reduce((sum, value) => sum + value, 0);
    return { ...bar, others: Math.max(0, (whole.get(bar.start) ?? 0) - known) };
  });
}

/** The height of a bar. */
export const heightOf = ({ values, others }: Bar): number =>
  values.reduce((sum, value) => sum + value, others);
