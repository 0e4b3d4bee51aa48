import { graphql, type ResultOf, type VariablesOf } from './graphql.js';
import type { Dimension, Measure } from './usage-filter.js';

/** The usage of one name in one interval. */
const USAGE_ROW = graphql(`
  fragment UsageRow on UsageSummaryRow {
    start
    model
    keyId
    endUser
    tag
    operation
    requests
    errors
    costUsd
    unpriced
    tokens {
      input
      output
    }
    amounts {
      bucket
      amount
    }
  }
`);

export const SUMMARY = graphql(
  `
    query UsageSummary(
      $since: DateTime
      $until: DateTime
      $interval: UsageInterval!
      $groupBy: [UsageDimension!]
      $filter: UsageFilter
      $timeZone: String
    ) {
      usageSummary(
        since: $since
        until: $until
        interval: $interval
        groupBy: $groupBy
        filter: $filter
        timeZone: $timeZone
      ) {
        ...UsageRow
      }
    }
  `,
  [USAGE_ROW],
);

/** Reads the usage of some names, and the usage of all names together. */
export const NAMED_AND_ALL = graphql(
  `
    query UsageNamedAndAll(
      $since: DateTime
      $until: DateTime
      $interval: UsageInterval!
      $groupBy: [UsageDimension!]
      $named: UsageFilter
      $filter: UsageFilter
      $timeZone: String
    ) {
      named: usageSummary(
        since: $since
        until: $until
        interval: $interval
        groupBy: $groupBy
        filter: $named
        timeZone: $timeZone
      ) {
        ...UsageRow
      }
      all: usageSummary(
        since: $since
        until: $until
        interval: $interval
        filter: $filter
        timeZone: $timeZone
      ) {
        ...UsageRow
      }
    }
  `,
  [USAGE_ROW],
);

export type UsageRow = ResultOf<typeof SUMMARY>['usageSummary'][number];
export type UsageFilter = NonNullable<VariablesOf<typeof SUMMARY>['filter']>;

/** The browser's time zone. It decides when days and months begin. */
export const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

/** The sums over several rows. */
export interface Sums {
  requests: number;
  errors: number;
  cost: number;
  /** The number of operations whose cost is unknown. */
  unpriced: number;
  tokens: number;
  /** The amount of each bucket. */
  amounts: Readonly<Record<string, number>>;
}

const NOTHING: Sums = { requests: 0, errors: 0, cost: 0, unpriced: 0, tokens: 0, amounts: {} };

function plus(sums: Sums, { requests, errors, costUsd, unpriced, tokens, amounts }: UsageRow): Sums {
  const sum = { ...sums.amounts };
  for (const { bucket, amount } of amounts) sum[bucket] = (sum[bucket] ?? 0) + amount;
  return {
    requests: sums.requests + requests,
    errors: sums.errors + errors,
    cost: sums.cost + Number(costUsd),
    unpriced: sums.unpriced + unpriced,
    tokens: sums.tokens + tokens.input + tokens.output,
    amounts: sum,
  };
}

/** The sums over all rows. */
export const sumsOf = (rows: readonly UsageRow[]): Sums => rows.reduce(plus, NOTHING);

/** The value of one measure. */
export function measured(sums: Sums, measure: Measure): number {
  if (measure in NOTHING) return sums[measure as 'requests' | 'errors' | 'cost' | 'tokens'];
  return sums.amounts[measure] ?? 0;
}

/** The name of a row in a dimension; null if its calls have none. */
export const nameIn = ({ model, keyId, endUser, tag, operation }: UsageRow, by: Dimension): string | null =>
  ({ model, key: keyId, endUser, tag, operation })[by];

/** The sums of one name. */
export interface Total extends Sums {
  name: string | null;
}

/** The totals of all names, the largest first. */
export function totalsOf(rows: readonly UsageRow[], by: Dimension, measure: Measure): Total[] {
  const totals = new Map<string | null, Total>();
  for (const row of rows) {
    const name = nameIn(row, by);
    totals.set(name, { name, ...plus(totals.get(name) ?? NOTHING, row) });
  }
  return [...totals.values()].toSorted(
    (a, b) => measured(b, measure) - measured(a, measure) || b.requests - a.requests,
  );
}
