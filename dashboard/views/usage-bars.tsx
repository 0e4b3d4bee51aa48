import type { ReactNode } from 'react';
import { COLOURS, heightOf, type Bar } from '../data/bars.js';
import type { Interval, Measure } from '../data/usage-filter.js';
import { asAmount, asDate, asHour, asMonth, asWords, inDigits, inDollars } from '../ui/format.js';

/** The name of a measure. */
export const measureName = (measure: Measure): string =>
  measure === 'cost' ? 'Cost, USD' : asWords(measure);

/** A value with the unit of its measure: `$0.0012`, `3 images` */
export function inMeasure(value: number, measure: Measure): string {
  if (measure === 'cost') return inDollars(value);
  if (measure === 'requests' || measure === 'errors' || measure === 'tokens')
    return `${inDigits(value)} ${value === 1 ? measure.slice(0, -1) : measure}`;
  return asAmount(value, measure);
}

const WHEN: Record<Interval, (iso: string) => string> = { hour: asHour, day: asDate, month: asMonth };

/** The text for an interval, made from its start. */
export const whenIn = (start: string, interval: Interval): string => WHEN[interval](start);

interface BarsProps {
  bars: readonly Bar[];
  /** The labels of the names that have a colour. */
  labels: readonly string[];
  interval: Interval;
  measure: Measure;
}

/** A stacked bar for each interval. The table below it gives the same numbers to people who cannot see the chart. */
export function Bars({ bars, labels, interval, measure }: BarsProps): ReactNode {
  const [first, last] = [bars[0], bars.at(-1)];
  if (first === undefined || last === undefined) return null;
  const most = Math.max(...bars.map(heightOf), Number.MIN_VALUE);
  const hasOthers = bars.some(({ others }) => others > 0);
  const parts = (bar: Bar): [colour: number, value: number][] => [
    ...bar.values.map<[number, number]>((value, colour) => [colour, value]),
    [COLOURS, bar.others],
  ];
  return (
    <figure className="chart">
      <div
        className={bars.length > 100 ? 'chart-bars is-dense' : 'chart-bars'}
        role="img"
        aria-label={`At most ${inMeasure(most, measure)} in one ${interval}`}
      >
        {bars.map((bar) => (
          <div
            key={bar.start}
            className="chart-bar"
            title={`${whenIn(bar.start, interval)}: ${inMeasure(heightOf(bar), measure)}`}
          >
            {parts(bar).map(
              ([colour, value]) =>
                value > 0 && (
                  <span
                    key={colour}
                    className={`chart-part chart-${colour}`}
                    style={{ height: `${(value / most) * 100}%` }}
                  />
                ),
            )}
          </div>
        ))}
      </div>
      <figcaption className="chart-legend">
        <span className="muted">
          {whenIn(first.start, interval)} to {whenIn(last.start, interval)}
        </span>
        {[...labels, ...(hasOthers ? ['others'] : [])].map((label, at) => (
          <span key={label}>
            <i className={`chart-key chart-${at < labels.length ? at : COLOURS}`} /> {label}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
