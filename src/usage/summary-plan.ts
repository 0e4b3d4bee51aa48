import type { UsageDimension } from './usage.types.js';
import { FILTERED } from './filter.js';
import type { FilterName } from './filter.js';

export const QUARTER_MS = 900_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the pieces of each level of `usage_rollups` are, from level 1 on (`penstock_usage_step`). */
const STEPS = [HOUR_MS / 2, 4 * HOUR_MS, DAY_MS, 7 * DAY_MS];
/** The level of days. */
export const DAYS = 3;

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

/** A time of which one level is read: 0 cells, else that of `usage_rollups`. In ms since 1970. */
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
  /** Before these the rollups are whole, from level 1 on. */
  wholeUntil: readonly number[];
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
  const requested = new Set<UsageDimension>([...groupBy, ...names.map((name) => FILTERED[name])]);
  if (requested.size > 2) return null;
  if (given.tags !== undefined && (groupBy.includes('tag') || given.tags.length > 1)) return null;
  return [...requested].reduce((bits, name) => bits | BITS[name], 0);
}

const down = (time: number, step: number): number => Math.floor(time / step) * step;
const up = (time: number, step: number): number => Math.ceil(time / step) * step;

interface Level {
  level: number;
  step: number;
  until: number;
}

/** The levels that have the rollups, coarsest first. Pairs with an end user have none shorter than days. */
function levelsOf(dims: number | null, wholeUntil: readonly number[]): Level[] {
  if (dims === null) return [];
  const isPairOfEndUser = (dims & BITS.endUser) !== 0 && dims !== BITS.endUser;
  return STEPS.map((step, at) => ({ level: at + 1, step, until: wholeUntil[at] ?? 0 }))
    .filter(({ level }) => level >= DAYS || !isPairOfEndUser)
    .toReversed();
}

/** The coarsest whole pieces of an interval, with finer ones before and behind them. */
function piecesOf(from: number, until: number, levels: readonly Level[]): Run[] {
  const [coarsest, ...finer] = levels;
  if (coarsest === undefined) return from < until ? [{ level: 0, from, until }] : [];
  const first = up(from, coarsest.step);
  const last = down(Math.min(until, coarsest.until), coarsest.step);
  if (first >= last) return piecesOf(from, until, finer);
  return [
    ...piecesOf(from, first, finer),
    { level: coarsest.level, from: first, until: last },
    ...piecesOf(last, until, finer),
  ];
}

/** The tables to read for each interval; neighbours of one level are one run. */
export function runsOf({ starts, since, until, wholeUntil }: Times, dims: number | null): Run[] {
  const levels = levelsOf(dims, wholeUntil);
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
