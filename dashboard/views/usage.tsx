import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Fragment, useMemo, type ReactNode } from 'react';
import { useKeyNames } from '../data/key-names.js';
import {
  DIMENSIONS,
  intervalsIn,
  MEASURES,
  readUsageFilter,
  type Dimension,
  type UsageSearch,
} from '../data/usage-filter.js';
import { useUsageParameters, type UsageParameters } from '../data/usage-sums.js';
import { CallFilters } from '../ui/call-filters.js';
import { SelectField } from '../ui/field.js';
import { Filters, TextFilter } from '../ui/filters.js';
import { asWords } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { measureName } from './usage-bars.js';
import { DIMENSION_NAMES, UsageChart, UsageTotals, type Labels } from './usage-chart.js';
import { UsageDownload } from './usage-download.js';
import { UsageTop } from './usage-top.js';

const SPANS = [
  { value: '1', label: 'Last 24 hours' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last 12 months' },
];
const CHOSEN = { value: '', label: 'The days below' };

/** Summaries of usage. */
export function UsageView(): ReactNode {
  const search = useSearch({ from: '/usage' });
  const parameters = useUsageParameters(search);
  const labels = useLabels();
  const { from, to, days: _days, interval: _interval, by: _by, count: _count, ...calls } = search;
  return (
    <PageFrame
      title="Usage"
      note="What calls add up to, a minute old at most."
      actions={
        <>
          <Link to="/requests" search={{ ...calls, from, to }}>
            Requests
          </Link>
          <UsageDownload parameters={parameters} />
        </>
      }
    >
      <UsageFilters search={search} parameters={parameters} />
      {/* The key discards the chart when the parameters change: rows of other intervals or names must not be shown until the new ones arrive. */}
      <Fragment key={JSON.stringify(parameters)}>
        <UsageChart parameters={parameters} labels={labels} />
        <UsageTop search={search} parameters={parameters} labels={labels} />
        <UsageTotals search={search} parameters={parameters} labels={labels} />
      </Fragment>
    </PageFrame>
  );
}

/** Gives the labels of names. A key gets its name if the person's role may see keys. */
function useLabels(): Labels {
  const keys = useKeyNames();
  return useMemo(() => {
    const named = new Map(keys.map(({ id, name }) => [id, name]));
    return (by: Dimension, name: string | null): string => {
      if (name === null) return 'none';
      if (by === 'operation') return asWords(name);
      return by === 'key' ? (named.get(name) ?? name) : name;
    };
  }, [keys]);
}

function UsageFilters({
  search,
  parameters,
}: {
  search: UsageSearch;
  parameters: UsageParameters;
}): ReactNode {
  const navigate = useNavigate({ from: '/usage' });
  const choose = (changed: Record<string, string>): void =>
    void navigate({ search: readUsageFilter({ ...search, ...changed }) });
  const isOfDays = search.from !== undefined || search.to !== undefined;
  return (
    <Filters isFiltered={Object.values(search).some((value) => value !== undefined)} to="/usage">
      <Choice
        label="Time"
        choices={isOfDays ? [...SPANS, CHOSEN] : SPANS}
        value={isOfDays ? '' : (search.days ?? '30')}
        onChoose={(days) => choose({ days, from: '', to: '' })}
      />
      <TextFilter label="From" name="from" type="date" value={search.from} onChoose={choose} />
      <TextFilter label="To" name="to" type="date" value={search.to} onChoose={choose} />
      <Choice
        label="Each"
        choices={intervalsIn(parameters.range).map((value) => ({ value, label: asWords(value) }))}
        value={parameters.interval}
        onChoose={(interval) => choose({ interval })}
      />
      <Choice
        label="By"
        choices={DIMENSIONS.map((value) => ({ value, label: DIMENSION_NAMES[value].one }))}
        value={parameters.by}
        onChoose={(by) => choose({ by })}
      />
      <Choice
        label="Counting"
        choices={MEASURES.map((value) => ({ value, label: measureName(value) }))}
        value={parameters.measure}
        onChoose={(count) => choose({ count })}
      />
      <CallFilters search={search} onChoose={choose} />
    </Filters>
  );
}

interface ChoiceProps {
  label: string;
  choices: readonly { value: string; label: string }[];
  value: string;
  onChoose(value: string): void;
}

function Choice({ label, choices, value, onChoose }: ChoiceProps): ReactNode {
  return (
    <SelectField label={label} name={label} value={value} onChange={({ target }) => onChoose(target.value)}>
      {choices.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </SelectField>
  );
}
