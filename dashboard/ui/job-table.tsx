import type { ReactNode } from 'react';
import type { JobRow } from '../data/jobs.js';
import type { Pages } from '../data/pages.js';
import { href } from '../route.js';
import { Badge, type Tone } from './basics.js';
import { Time, asDuration, asWords, inDigits } from './format.js';
import { Meter } from './meter.js';
import { PagedTable, type Column } from './table.js';

const TONES: Record<JobRow['status'], Tone> = {
  pending: 'calm',
  processing: 'busy',
  completed: 'good',
  failed: 'bad',
  cancelled: 'calm',
};

/** Where a job stands, in a word. */
export function JobBadge({ status }: Pick<JobRow, 'status'>): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

/** Where a job stands; while a worker is at it, how far it is. */
export function JobState({ job }: { job: Pick<JobRow, 'status' | 'progress'> }): ReactNode {
  return (
    <span className="job-state">
      <JobBadge status={job.status} />
      {job.status === 'processing' && (
        <Meter isProgress label={`${Math.round(job.progress)} percent done`} percent={job.progress} />
      )}
    </span>
  );
}

/** From the first worker's claim to the end. */
export function jobDuration({ startedAt, completedAt }: Pick<JobRow, 'startedAt' | 'completedAt'>): string {
  if (startedAt === null || completedAt === null) return '–';
  return asDuration(new Date(completedAt).getTime() - new Date(startedAt).getTime());
}

/** What was asked for, in the caller's own words where there are any. */
function subject(params: unknown): string | null {
  const { prompt, input, operation } = (params ?? {}) as Record<string, unknown>;
  const words = [prompt, input, operation].find((text) => typeof text === 'string' && text !== '');
  return typeof words === 'string' ? words.slice(0, 200) : null;
}

const COLUMNS: Column<JobRow>[] = [
  {
    label: 'Job',
    cell: ({ id, tool, inputParams }) => (
      <>
        <a href={href('jobs', id)}>{asWords(tool)}</a>
        <span className="muted line">{subject(inputParams)}</span>
      </>
    ),
  },
  { label: 'State', cell: (job) => <JobState job={job} /> },
  { label: 'Model', cell: ({ model }) => <span className="code">{model}</span> },
  {
    label: 'Credits',
    isNumber: true,
    cell: ({ actualCredits, estimatedCredits, status }) =>
      actualCredits !== null
        ? inDigits(actualCredits)
        : status === 'failed' || status === 'cancelled'
          ? '0'
          : `≈ ${inDigits(estimatedCredits)}`,
  },
  { label: 'Took', isNumber: true, cell: jobDuration },
  { label: 'Made', cell: ({ createdAt }) => <Time iso={createdAt} /> },
];

interface JobTableProps {
  pages: Pages<JobRow>;
  empty: ReactNode;
}

/** Jobs, live. */
export function JobTable({ pages, empty }: JobTableProps): ReactNode {
  return (
    <PagedTable
      caption="Jobs, newest first"
      columns={COLUMNS}
      pages={pages}
      rowKey={({ id }) => id}
      empty={empty}
    />
  );
}
