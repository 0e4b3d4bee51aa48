import { useEffect, useState } from 'react';
import type { Fault } from './fault.js';
import { graphql, type ResultOf } from './graphql.js';
import { useFollow, usePlace, useQuery, type Answer } from './hooks.js';
import { JOB_ROW } from './jobs.js';

const CHARGE = graphql(`
  fragment JobCharge on UsageRecord {
    id
    requestId
    state
    costUsd
    endUser
    provider
    errorCode
    amounts {
      bucket
      amount
    }
  }
`);

const JOB = graphql(
  `
    query Job($id: ID!) {
      job(id: $id) {
        ...JobRow
        modelTier
        userId
        key {
          id
          name
        }
        usage {
          ...JobCharge
        }
      }
    }
  `,
  [JOB_ROW, CHARGE],
);

const JOB_PROGRESS = graphql(
  `
    subscription JobProgress($id: ID!, $after: Int) {
      jobProgress(id: $id, after: $after) {
        sequence
        job {
          ...JobRow
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

/** A job with all of its fields. */
export type Job = ResultOf<typeof JOB>['job'];

/** Whether the job may still change. */
export const isUnfinished = ({ status }: Pick<Job, 'status'>): boolean =>
  status === 'pending' || status === 'processing';

/** Reads one job and keeps it current. Events change it in the cache. When the job has ended, it is read once more for its charge. */
export function useJob(
  id: string,
): Omit<Answer<{ job: Job }>, 'data'> & { job: Job | undefined; lost: Fault | undefined } {
  const { data, reload, ...answer } = useQuery(JOB, { id });
  const [lost, setLost] = useState<Fault>();
  const job = data?.job;
  const isOpen = job !== undefined && isUnfinished(job);
  // The subscription is opened once for each job. It ends by itself when the job ends.
  const [followed, setFollowed] = useState<string>();
  useEffect(() => {
    if (isOpen) setFollowed(id);
  }, [isOpen, id]);
  useFollow(JOB_PROGRESS, followed === id ? { id } : null, {
    next: () => setLost(undefined),
    fail: setLost,
    done: reload,
  });
  return { ...answer, reload, job, lost };
}

/** Returns a function that cancels a job. */
export function useCancelJob(): (id: string) => Promise<unknown> {
  const { api } = usePlace();
  return (id) => api.request(CANCEL_JOB, { id });
}
