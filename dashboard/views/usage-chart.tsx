import type { ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { useQuery } from '../data/hooks.js';
import { Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { asDate, asWords, inDigits } from '../ui/format.js';
import { DataTable, type Column } from '../ui/table.js';

const SUMMARY = graphql(`
  query UsageSummary(
    $since: DateTime
    $interval: UsageInterval!
    $groupBy: [UsageDimension!]
    $timeZone: String
  ) {
    usageSummary(since: $since, interval: $interval, groupBy: $groupBy, timeZone: $timeZone) {
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
      amounts {
        bucket
        amount
      }
      latencyMs {
        p95
      }
    }
  }
`);

type Row = ResultOf<typeof SUMMARY>['usageSummary'][number];

/** What the chart is split by. */
export const DIMENSIONS = [
  { value: 'model', label: 'Model' },
  { value: 'operation', label: 'Operation' },
  { value: 'key', label: 'Key' },
  { value: 'endUser', label: 'End user' },
  { value: 'tag', label: 'Tag' },
] as const;
export type Dimension = (typeof DIMENSIONS)[number]['value'];

/** What its bars count. */
export const MEASURES = [
  { value: 'requests', label: 'Requests' },
  { value: 'cost', label: 'Cost, USD' },
  { value: 'credits', label: 'Credits' },
] as const;
export type Measure = (typeof MEASURES)[number]['value'];

const nameIn = ({ model, keyId, endUser, tag, operation }: Row, by: Dimension): string => {
  const name = { model, key: keyId, endUser, tag, operation }[by];
  return name ?? 'none';
};

function measured({ requests, costUsd, amounts }: Row, measure: Measure): number {
  if (measure === 'requests') return requests;
  if (measure === 'cost') return Number(costUsd);
  return amounts.find(({ bucket }) => bucket === 'credits')?.amount ?? 0;
}

/** Everything of one name. */
interface Total {
  name: string;
  value: number;
  requests: number;
  errors: number;
  costUsd: number;
  isPriced: boolean;
}

function totalsOf(rows: readonly Row[], { by, measure }: Pick<ChartProps, 'by' | 'measure'>): Total[] {
  const totals = new Map<string, Total>();
  for (const row of rows) {
    const name = nameIn(row, by);
    const known = totals.get(name) ?? { name, value: 0, requests: 0, errors: 0, costUsd: 0, isPriced: true };
    totals.set(name, {
      name,
      value: known.value + measured(row, measure),
      requests: known.requests + row.requests,
      errors: known.errors + row.errors,
      costUsd: known.costUsd + Number(row.costUsd),
      isPriced: known.isPriced && row.unpriced === 0,
    });
  }
  return [...totals.values()].toSorted((a, b) => b.value - a.value);
}

/** So many names have a colour of their own; the rest share one. */
const COLOURS = 6;
const OTHERS = 'others';
const MOST_BARS = 400;

interface ChartProps {
  /** ISO 8601; undefined: the last 30 days. */
  since: string | undefined;
  interval: 'hour' | 'day';
  by: Dimension;
  measure: Measure;
}

/** What was used, by interval and name, and the names that used most. */
export function UsageChart({ since, interval, by, measure }: ChartProps): ReactNode {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const { data, fault, isLoading, reload } = useQuery(SUMMARY, {
    interval,
    groupBy: [by],
    timeZone,
    ...(since === undefined ? {} : { since }),
  });
  const rows = data?.usageSummary;
  if (rows === undefined)
    return (
      <Card>
        {isLoading && <Loading rows={4} />}
        <FaultNotice fault={fault} retry={reload} />
      </Card>
    );
  if (rows.length === 0)
    return (
      <Card>
        <Empty title="Nothing used in this time">Calls are summed up here within a minute.</Empty>
      </Card>
    );
  const totals = totalsOf(rows, { by, measure });
  return (
    <>
      <Card>
        <Bars rows={rows} totals={totals} interval={interval} by={by} measure={measure} />
      </Card>
      <Card>
        <DataTable
          caption="Totals, the largest first"
          columns={columnsOf(by)}
          items={totals.slice(0, 20)}
          rowKey={({ name }) => name}
        />
      </Card>
    </>
  );
}

const columnsOf = (by: Dimension): Column<Total>[] => [
  {
    label: DIMENSIONS.find(({ value }) => value === by)?.label ?? 'Name',
    cell: ({ name }) => <span className="code">{by === 'operation' ? asWords(name) : name}</span>,
  },
  { label: 'Requests', isNumber: true, cell: ({ requests }) => inDigits(requests) },
  { label: 'Errors', isNumber: true, cell: ({ errors }) => inDigits(errors) },
  {
    label: 'Cost',
    isNumber: true,
    cell: ({ costUsd, isPriced }) => `$${costUsd.toFixed(4)}${isPriced ? '' : ' and what has no price'}`,
  },
];

/** The first moments of all days or hours from the first that something was used in until now, in the browser's time zone. */
function startsOf(rows: readonly Row[], interval: ChartProps['interval']): string[] {
  const known = [...new Set(rows.map(({ start }) => start))].toSorted();
  const starts: string[] = [];
  const at = new Date(known[0] ?? Date.now());
  while (at.getTime() <= Date.now() && starts.length < MOST_BARS) {
    starts.push(at.toISOString());
    if (interval === 'day') at.setDate(at.getDate() + 1);
    else at.setHours(at.getHours() + 1);
  }
  // Whatever a change of the clock shifted is shown all the same.
  return [...new Set([...starts, ...known])].toSorted();
}

interface BarsProps extends Pick<ChartProps, 'interval' | 'by' | 'measure'> {
  rows: readonly Row[];
  totals: readonly Total[];
}

/** A stacked bar for each interval. The table below says the same in words. */
function Bars({ rows, totals, interval, by, measure }: BarsProps): ReactNode {
  const named = totals.slice(0, COLOURS).map(({ name }) => name);
  const colourOf = (name: string): number => (named.includes(name) ? named.indexOf(name) : COLOURS);
  const starts = startsOf(rows, interval);
  const bars = starts.map((start) => {
    const parts = rows
      .filter((row) => row.start === start)
      .map((row) => ({ name: nameIn(row, by), value: measured(row, measure) }))
      .toSorted((a, b) => colourOf(a.name) - colourOf(b.name));
    return { start, parts, sum: parts.reduce((all, { value }) => all + value, 0) };
  });
  const most = Math.max(...bars.map(({ sum }) => sum), Number.MIN_VALUE);
  const told = (value: number): string => (measure === 'cost' ? `$${value.toFixed(4)}` : inDigits(value));
  const when = (start: string): string =>
    interval === 'day' ? asDate(start) : new Date(start).toLocaleString();
  return (
    <figure className="chart">
      <div className="chart-bars" role="img" aria-label={`At most ${told(most)} in one ${interval}`}>
        {bars.map(({ start, parts, sum }) => (
          <div key={start} className="chart-bar" title={`${when(start)}: ${told(sum)}`}>
            {parts.map(({ name, value }) => (
              <span
                key={name}
                className={`chart-part chart-${colourOf(name)}`}
                style={{ height: `${(value / most) * 100}%` }}
              />
            ))}
          </div>
        ))}
      </div>
      <figcaption className="chart-legend">
        <span className="muted">
          {when(starts[0] ?? '')} to {when(starts.at(-1) ?? '')}
        </span>
        {[...named, ...(totals.length > COLOURS ? [OTHERS] : [])].map((name) => (
          <span key={name}>
            <i className={`chart-key chart-${colourOf(name)}`} /> {by === 'operation' ? asWords(name) : name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
