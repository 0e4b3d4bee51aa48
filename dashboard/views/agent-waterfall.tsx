import { useEffect, useState, type ReactNode } from 'react';
import { filesIn } from '../data/files.js';
import type { Run, Step } from '../data/runs.js';
import { baseOf, partsOf, type Part } from '../data/waterfall.js';
import { Badge, Card } from '../ui/basics.js';
import { asDuration, inDigits } from '../ui/format.js';
import { Json, OutputPreview } from '../ui/media.js';
import { nameOfTool } from './agent-tools.js';

const TICK_MS = 200;

/** The current time, updated while the run is running. */
function useNow(isGoing: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isGoing) return undefined;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isGoing]);
  return now;
}

/** All parts of a run on a time line, with their durations and costs. It grows while the run is running. */
export function Waterfall({ run, steps }: { run: Run; steps: readonly Step[] }): ReactNode {
  const isRunning = run.status === 'running';
  const now = useNow(isRunning);
  const parts = partsOf(run, steps);
  const start = Date.parse(run.createdAt);
  const known = Math.max(start, ...parts.map(({ from, to }) => to ?? from));
  const end = isRunning ? Math.max(known, now) : Date.parse(run.completedAt ?? run.createdAt);
  const span = Math.max(end - start, 1);
  const current = parts.at(-1);
  return (
    <Card title="Steps">
      <table className="table waterfall">
        <caption className="unseen">Steps of the run, with their time and cost</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">
              <span className="waterfall-axis">
                <span>0 s</span>
                <span>{asDuration(span)}</span>
              </span>
            </th>
            {['Took', 'Tokens', 'Credits'].map((label) => (
              <th key={label} scope="col" className="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {parts.map((part, at) => (
            <PartRow
              key={`${part.number} ${part.kind} ${at}`}
              part={part}
              start={start}
              span={span}
              end={end}
            />
          ))}
        </tbody>
        <Sums run={run} steps={steps} />
      </table>
      <p className="unseen" role="status">
        {isRunning && current !== undefined && `Step ${current.number}: ${current.name}`}
      </p>
    </Card>
  );
}

function Sums({ run, steps }: { run: Run; steps: readonly Step[] }): ReactNode {
  const base = baseOf(run, steps);
  return (
    <tfoot>
      {base > 0 && (
        <tr>
          <th scope="row" colSpan={4}>
            Base charge
          </th>
          <td className="number" data-label="Credits">
            <div>{inDigits(base)}</div>
          </td>
        </tr>
      )}
      <tr>
        <th scope="row" colSpan={2}>
          {run.status === 'running' ? 'So far' : 'Together'}
        </th>
        <td className="number" data-label="Took">
          <div>{run.durationMs === null ? '' : asDuration(run.durationMs)}</div>
        </td>
        <td className="number" data-label="Tokens">
          <div>{inDigits(run.tokensUsed)}</div>
        </td>
        <td className="number" data-label="Credits">
          <div>{inDigits(run.creditsUsed)}</div>
        </td>
      </tr>
    </tfoot>
  );
}

interface PartProps {
  part: Part;
  /** Unix milliseconds: the start and end of the run, and its length. */
  start: number;
  end: number;
  span: number;
}

function PartRow({ part, start, end, span }: PartProps): ReactNode {
  const { kind, content, input, output, fault, from, to, tokens, credits } = part;
  // An output with a file, such as an image, is usually the purpose of a run. So it is shown without a click.
  const [isOpen, setOpen] = useState<boolean>();
  const isShown = isOpen ?? filesIn(output).length > 0;
  const hasMore = content !== null || input !== null || output !== null;
  const took = (to ?? end) - from;
  const tone = fault !== null ? 'bad' : kind;
  const name = kind === 'tool' ? nameOfTool(part.name) : part.name;
  return (
    <>
      <tr className={fault === null ? undefined : 'is-bad'}>
        <th scope="row">
          <span className="waterfall-name">
            {hasMore ? (
              <button type="button" aria-expanded={isShown} onClick={() => setOpen(!isShown)}>
                <span aria-hidden="true">{isShown ? '▾' : '▸'}</span> {name}
              </button>
            ) : (
              <span className="waterfall-plain">{name}</span>
            )}
            {fault !== null && <Badge tone="bad">failed</Badge>}
            {to === null && <Badge tone="busy">running</Badge>}
          </span>
        </th>
        <td className="waterfall-time">
          <div>
            <span
              className={`waterfall-bar waterfall-${tone}`}
              style={{
                left: `${((from - start) / span) * 100}%`,
                width: `${(Math.max(took, 0) / span) * 100}%`,
              }}
            />
          </div>
        </td>
        <Numbers took={took} tokens={tokens} credits={credits} />
      </tr>
      {(isShown || fault !== null) && (
        <tr className="waterfall-more">
          <td colSpan={5}>
            {fault !== null && <p className="field-fault">{fault}</p>}
            {isShown && <Details part={part} />}
          </td>
        </tr>
      )}
    </>
  );
}

function Numbers({ took, tokens, credits }: Pick<Part, 'tokens' | 'credits'> & { took: number }): ReactNode {
  return (
    <>
      <td className="number" data-label="Took">
        <div>{asDuration(Math.max(took, 0))}</div>
      </td>
      <td className="number" data-label="Tokens">
        <div>{tokens === 0 ? '–' : inDigits(tokens)}</div>
      </td>
      <td className="number" data-label="Credits">
        <div>{credits === 0 ? '–' : inDigits(credits)}</div>
      </td>
    </>
  );
}

function Details({ part: { name, kind, content, input, output, fault } }: { part: Part }): ReactNode {
  return (
    <div className="waterfall-details">
      {content !== null && kind !== 'error' && <p className="pre">{content}</p>}
      {fault === null && <OutputPreview output={output} label={name} />}
      <div className="waterfall-data">
        <Data name="Input" value={input} />
        {fault === null && <Data name="Output" value={output} />}
      </div>
    </div>
  );
}

function Data({ name, value }: { name: string; value: unknown }): ReactNode {
  if (value === null || value === undefined) return null;
  return (
    <div>
      <h3>{name}</h3>
      <Json value={value} />
    </div>
  );
}
