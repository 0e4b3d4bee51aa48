import type { ReactNode } from 'react';
import type { JobRow } from '../data/jobs.js';
import { Badge, type Tone } from './basics.js';
import { asDuration } from './format.js';
import { Meter } from './meter.js';

const TONES: Record<JobRow['status'], Tone> = {
  pending: 'calm',
  processing: 'busy',
  completed: 'good',
  failed: 'bad',
  cancelled: 'calm',
};

/** The state of a job as one word. */
export function JobBadge({ status }: Pick<JobRow, 'status'>): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

/** The state of a job. While a worker processes it, its progress is shown. */
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

/** The time from the first claim by a worker until the end. */
export function jobDuration({ startedAt, completedAt }: Pick<JobRow, 'startedAt' | 'completedAt'>): string {
  if (startedAt === null || completedAt === null) return '–';
  return asDuration(new Date(completedAt).getTime() - new Date(startedAt).getTime());
}

/** The prompt or text of the request, if there is one. */
export function subjectOf(params: unknown): string | null {
  const { prompt, input, operation } = (params ?? {}) as Record<string, unknown>;
  const words = [prompt, input, operation].find((text) => typeof text === 'string' && text !== '');
  return typeof words === 'string' ? words.slice(0, 200) : null;
}
