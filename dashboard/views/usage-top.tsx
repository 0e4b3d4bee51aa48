import type { ReactNode } from 'react';
import { measured, type Total } from '../data/usage.js';
import { DIMENSIONS, type Dimension, type UsageSearch } from '../data/usage-filter.js';
import { useTotals, type UsageParameters } from '../data/usage-sums.js';
import { Card, FaultNotice, Loading } from '../ui/basics.js';
import { inMeasure } from './usage-bars.js';
import { DIMENSION_NAMES, UsageName, type Labels } from './usage-chart.js';

const LONGEST = 5;

interface TopProps {
  search: UsageSearch;
  parameters: UsageParameters;
  labels: Labels;
}

/** The names with the most usage in each dimension that the chart is not split by. */
export function UsageTop({ search, parameters, labels }: TopProps): ReactNode {
  return (
    <div className="tops">
      {DIMENSIONS.filter((by) => by !== parameters.by).map((by) => (
        <Top key={by} by={by} search={search} parameters={parameters} labels={labels} />
      ))}
    </div>
  );
}

function Top({ by, search, parameters, labels }: TopProps & { by: Dimension }): ReactNode {
  const { totals, fault, isLoading, reload } = useTotals(parameters, by);
  const value = (total: Total): number => measured(total, parameters.measure);
  const found = totals?.filter((total) => total.name !== null && value(total) > 0).slice(0, LONGEST);
  const most = found?.[0] === undefined ? 1 : value(found[0]);
  return (
    <Card title={`Top ${DIMENSION_NAMES[by].many.toLowerCase()}`}>
      {totals === undefined && isLoading && <Loading rows={3} />}
      <FaultNotice fault={fault} retry={reload} />
      {found?.length === 0 && <p className="muted">None in this time</p>}
      {found !== undefined && found.length > 0 && (
        <ol className="top">
          {found.map((total) => (
            <li key={total.name}>
              <UsageName by={by} name={total.name} search={search} label={labels(by, total.name)} />
              <span className="top-value">{inMeasure(value(total), parameters.measure)}</span>
              <span
                className="top-bar"
                aria-hidden="true"
                style={{ width: `${(value(total) / most) * 100}%` }}
              />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
