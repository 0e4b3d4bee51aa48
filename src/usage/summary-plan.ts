import type { UsageDimension } from './usage.types.js';
import { FILTERED } from './filter.js';
import type { FilterName } from './filter.js';

export const QUARTER_MS = 900_000;
const HALF_MS = 2 * QUARTER_MS;
const DAY_MS = 86_400_000;

/** The bits of `usage_rollups.dims`. */
const BITS: Record<UsageDimension, number> = {
  model: 1,
  provider: 2,
  key: 4,
  endUser: 8,
  operation: 16,
  status: 32,
  tag: 64,
};

/** A time of which one level is read: 0 cells, 1 half hours, 2 days. In ms since 1970. */
export interface Run {
  level: number;
  from: number;
  until: number;
}

export interface Times {
  /** In order; the first may be before `since`. */
  starts: readonly number[];
  since: number;
  until: number;
  /** Before these the rollups are whole. */
  halvesUntil: number;
  daysUntil: number;
}

/**
 * The rollups that know all that is asked for, or null: then the cells do. A record with two of the tags that a filter names counts once, and
 * rollups of tags have it twice.
 */
export function dimsOf(
  groupBy: readonly UsageDimension[],
  given: Partial<Record<FilterName, string[]>>,
): number | null {
  const names = Object.keys(given) as FilterName[];
  const asked = new Set<UsageDimension>([...groupBy, ...names.map((name) => FILTERED[name])]);
  if (asked.size > 2) return null;
  if (given.tags !== undefined && (groupBy.includes('tag') || given.tags.length > 1)) return null;
  return [...asked].reduce((bits, name) => bits | BITS[name], 0);
}

const down = (time: number, step: number): number => Math.floor(time / step) * step;
const up = (time: number, step: number): number => Math.ceil(time / step) * step;

/** The coarsest whole pieces of an interval: cells, half hours, days, and the same backwards. */
function piecesOf(from: number, until: number, levels: { step: number; whole: number }[]): Run[] {
  const [coarsest, ...finer] = levels;
  if (coarsest === undefined) return from < until ? [{ level: 0, from, until }] : [];
  const first = up(from, coarsest.step);
  const last = down(Math.min(until, coarsest.whole), coarsest.step);
  if (first >= last) return piecesOf(from, until, finer);
  return [
    ...piecesOf(from, first, finer),
    { level: levels.length, from: first, until: last },
    ...piecesOf(last, until, finer),
  ];
}

/** What is to be read for each interval, neighbours of one level as one run. Pairs with an end user have no half hours. */
export function runsOf({ starts, since, until, halvesUntil, daysUntil }: Times, dims: number | null): Run[] {
  const halves = {
    step: HALF_MS,
    whole: dims !== null && (dims & BITS.endUser) !== 0 && dims !== BITS.endUser ? 0 : halvesUntil,
  };
  const levels = dims === null ? [] : [{ step: DAY_MS, whole: daysUntil }, halves];
  const runs: Run[] = [];
  for (const [at, start] of starts.entries()) {
    const end = Math.min(starts[at + 1] ?? until, until);
    for (const piece of piecesOf(Math.max(start, since), end, levels)) {
      const last = runs.at(-1);
      if (last?.level === piece.level && last.until === piece.from) last.until = piece.until;
      else runs.push(piece);
    }
  }
  return runs;
}
