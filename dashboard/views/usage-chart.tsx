import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { heightOf, type Bar } from '../data/bars.js';
import { measured, type Total } from '../data/usage.js';
import type { Dimension, UsageSearch } from '../data/usage-filter.js';
import { searchFor, useBars, useTotals, type UsageParameters } from '../data/usage-sums.js';
import { BUCKET_UNITS } from '../data/words.generated.js';
import { Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { asWords, inDigits, inDollars } from '../ui/format.js';
import { DataTable, type Column } from '../ui/table.js';
import { Bars, inMeasure, measureName, whenIn } from './usage-bars.js';

/** The word for the names of each dimension. */
export const DIMENSION_NAMES: Record<Dimension, { one: string; many: string }> = {
  model: { one: 'Model', many: 'Models' },
  key: { one: 'Key', many: 'Keys' },
  endUser: { one: 'End user', many: 'End users' },
  tag: { one: 'Tag', many: 'Tags' },
  operation: { one: 'Operation', many: 'Operations' },
};

/** Gives the label of a name. */
export type Labels = (by: Dimension, name: string | null) => string;

interface ChartProps {
  parameters: UsageParameters;
  labels: Labels;
}

/** The chart: usage by interval and name. */
export function UsageChart({ parameters, labels }: ChartProps): ReactNode {
  const { totals, fault, isLoading, reload } = useTotals(parameters, parameters.by);
  return (
    <>
      {totals === undefined && isLoading && (
        <Card>
          <Loading rows={4} />
        </Card>
      )}
      <FaultNotice fault={fault} retry={reload} />
      {totals?.length === 0 && (
        <Card>
          <Empty title="Nothing used in this time">Calls are summed up here within a minute.</Empty>
        </Card>
      )}
      {totals !== undefined && totals.length > 0 && (
        <ChartCard parameters={parameters} totals={totals} labels={labels} />
      )}
    </>
  );
}

const LONGEST = 100;

/** The total of each name, the largest first. */
export function UsageTotals({ search, parameters, labels }: ChartProps & { search: UsageSearch }): ReactNode {
  const { totals = [] } = useTotals(parameters, parameters.by);
  if (totals.length === 0) return null;
  const many = totals.length > LONGEST ? `The largest ${LONGEST} of ${inDigits(totals.length)}. ` : '';
  return (
    <Card
      title={`By ${DIMENSION_NAMES[parameters.by].one.toLowerCase()}`}
      note={many + noteOf(parameters.by)}
    >
      <DataTable
        caption="Totals, the largest first"
        columns={columnsOf(parameters, { search, totals, labels })}
        items={totals.slice(0, LONGEST)}
        rowKey={({ name }) => String(name)}
      />
    </Card>
  );
}

const noteOf = (by: Dimension): string =>
  by === 'tag' ? 'A call with several tags counts for each of them.' : 'A name leads to its own usage.';

interface ChartCardProps extends ChartProps {
  totals: readonly Total[];
}

function ChartCard({ parameters, totals, labels }: ChartCardProps): ReactNode {
  const { by, measure, interval } = parameters;
  const { bars, names, fault, isLoading, reload } = useBars(parameters, totals);
  const named = names.map((name) => labels(by, name));
  return (
    <Card title={measureName(measure)} note={<AllOfTime parameters={parameters} />}>
      {bars === undefined && isLoading && <Loading rows={4} />}
      <FaultNotice fault={fault} retry={reload} />
      {bars !== undefined && (
        <>
          <Bars bars={bars} labels={named} interval={interval} measure={measure} />
          <details className="chart-figures">
            <summary>Figures by {interval}</summary>
            <DataTable
              caption={`${measureName(measure)} by ${interval}, the newest first`}
              columns={figuresOf(parameters, named, bars)}
              items={bars.filter((bar) => heightOf(bar) > 0).toReversed()}
              rowKey={({ start }) => start}
            />
          </details>
        </>
      )}
    </Card>
  );
}

/** The total of the whole range. It is summed over operations, because there each call counts once, in whatever way the chart is split. */
function AllOfTime({ parameters }: { parameters: UsageParameters }): ReactNode {
  const { totals } = useTotals(parameters, 'operation');
  if (totals === undefined) return '…';
  const sum = totals.reduce((all, total) => all + measured(total, parameters.measure), 0);
  return `${inMeasure(sum, parameters.measure)} in this time`;
}

function figuresOf(
  { measure, interval }: UsageParameters,
  names: readonly string[],
  bars: readonly Bar[],
): Column<Bar>[] {
  const shown = (value: number): string => (measure === 'cost' ? inDollars(value) : inDigits(value));
  return [
    { label: asWords(interval), cell: ({ start }) => whenIn(start, interval) },
    ...names.map<Column<Bar>>((label, at) => ({
      label,
      isNumber: true,
      cell: ({ values }) => shown(values[at] ?? 0),
    })),
    ...(bars.some(({ others }) => others > 0)
      ? [{ label: 'Others', isNumber: true, cell: ({ others }: Bar) => shown(others) }]
      : []),
    { label: 'All', isNumber: true, cell: (bar) => shown(heightOf(bar)) },
  ];
}

interface NameProps {
  by: Dimension;
  name: string | null;
  search: UsageSearch;
  label: string;
}

/** A name with a link to its own usage. */
export function UsageName({ by, name, search, label }: NameProps): ReactNode {
  if (name === null) return <span className="muted">{label}</span>;
  return (
    <Link to="/usage" search={{ ...search, ...searchFor(by, name) }} className="code">
      {label}
    </Link>
  );
}

function columnsOf(
  { by }: UsageParameters,
  { search, totals, labels }: { search: UsageSearch; totals: readonly Total[]; labels: Labels },
): Column<Total>[] {
  const used = Object.keys(BUCKET_UNITS).filter((bucket) =>
    totals.some(({ amounts }) => (amounts[bucket] ?? 0) !== 0),
  );
  return [
    {
      label: DIMENSION_NAMES[by].one,
      cell: ({ name }) => <UsageName by={by} name={name} search={search} label={labels(by, name)} />,
      sort: ({ name }) => labels(by, name),
    },
    number('Requests', ({ requests }) => requests),
    number('Errors', ({ errors }) => errors),
    {
      ...number('Cost', ({ cost }) => cost),
      cell: ({ cost, unpriced }) =>
        `${inDollars(cost)}${unpriced === 0 ? '' : ` and ${inDigits(unpriced)} unpriced`}`,
    },
    ...(totals.some(({ tokens }) => tokens > 0) ? [number('Tokens', ({ tokens }) => tokens)] : []),
    ...used.map((bucket) => number(asWords(bucket), ({ amounts }) => amounts[bucket] ?? 0)),
  ];
}

const number = (label: string, value: (total: Total) => number): Column<Total> => ({
  label,
  isNumber: true,
  cell: (total) => inDigits(value(total)),
  sort: value,
});
