import { useCallback, useEffect } from 'react';
import { usePlace, useFollow } from './hooks.js';
import { graphql, type ResultOf } from './graphql.js';
import { usePages, type Pages } from './pages.js';

/** What lists show of a job. */
export const JOB_ROW = graphql(`
  fragment JobRow on Job {
    id
    tool
    status
    progress
    model: modelId
    estimatedCredits
    actualCredits
    errorMessage
    inputParams
    createdAt
    startedAt
    completedAt
  }
`);

const JOBS = graphql(
  `
    query Jobs($tool: JobTool, $pending: Boolean, $first: Int, $after: String) {
      jobs(tool: $tool, pending: $pending, first: $first, after: $after) {
        nodes {
          ...JobRow
        }
        nextCursor
      }
    }
  `,
  [JOB_ROW],
);

const JOB_UPDATES = graphql(
  `
    subscription JobUpdates($tool: JobTool) {
      jobUpdates(tool: $tool) {
        job {
          ...JobRow
        }
      }
    }
  `,
  [JOB_ROW],
);

/** A job as lists show it. */
export type JobRow = ResultOf<typeof JOBS>['jobs']['nodes'][number];
/** What a job makes. */
export type JobTool = JobRow['tool'];

/** Which jobs. */
export interface JobFilter {
  tool?: JobTool;
  /** Only those that are not finished. */
  pending?: boolean;
  /** How many a page has. */
  first: number;
}

const isOpen = ({ status }: JobRow): boolean => status === 'pending' || status === 'processing';

/** The organisation's jobs, newest first, as they are now: events change the rows, and new jobs come in at the top. */
export function useJobs({ tool, pending = false, first }: JobFilter): Pages<JobRow> {
  const { api } = usePlace();
  const pages = usePages({
    operation: JOBS,
    variables: { pending, first, ...(tool === undefined ? {} : { tool }) },
    page: ({ jobs }) => jobs,
  });
  const { update, reload } = pages;
  const take = useCallback(
    (job: JobRow) => {
      update((items) => {
        const isKnown = items.some(({ id }) => id === job.id);
        if (isKnown) return items.map((item) => (item.id === job.id ? job : item));
        return pending && !isOpen(job) ? items : [job, ...items];
      });
    },
    [update, pending],
  );
  useFollow(JOB_UPDATES, tool === undefined ? {} : { tool }, {
    next: ({ jobUpdates }) => take(jobUpdates.job),
  });
  useEffect(() => api.onReconnected(reload), [api, reload]);
  return pages;
}
