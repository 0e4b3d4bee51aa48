import { useEffect, useState } from 'react';
import type { Fault } from './fault.js';
import { graphql, type ResultOf } from './graphql.js';
import { useFollow, usePlace, useQuery, type Answer } from './hooks.js';
import { JOB_ROW } from './jobs.js';

const JOB = graphql(
  `
    query Job($id: ID!) {
      job(id: $id) {
        ...JobRow
        modelTier
        userId
        outputData
      }
    }
  `,
  [JOB_ROW],
);

const JOB_PROGRESS = graphql(
  `
    subscription JobProgress($id: ID!) {
      jobProgress(id: $id) {
        job {
          ...JobRow
          modelTier
          userId
          outputData
        }
      }
    }
  `,
  [JOB_ROW],
);

const CANCEL_JOB = graphql(`
  mutation CancelJob($id: ID!) {
    cancelJob(id: $id) {
      success
    }
  }
`);

/** All of a job. */
export type Job = ResultOf<typeof JOB>['job'];

/** Whether it still changes. */
export const isUnfinished = ({ status }: Pick<Job, 'status'>): boolean =>
  status === 'pending' || status === 'processing';

/** One job as it is now. */
export function useJob(
  id: string,
): Omit<Answer<{ job: Job }>, 'data'> & { job: Job | undefined; lost: Fault | undefined } {
  const { data, ...answer } = useQuery(JOB, { id });
  const [followed, setFollowed] = useState<Job>();
  const [lost, setLost] = useState<Fault>();
  const job = followed ?? data?.job;
  const isOpen = data !== undefined && isUnfinished(data.job);
  useEffect(() => setFollowed(undefined), [id]);
  useFollow(JOB_PROGRESS, isOpen ? { id } : null, {
    next: ({ jobProgress }) => setFollowed(jobProgress.job),
    fail: setLost,
  });
  return { ...answer, job, lost };
}

/** What cancels a job. */
export function useCancelJob(): (id: string) => Promise<unknown> {
  const { api } = usePlace();
  return (id) => api.request(CANCEL_JOB, { id });
}
