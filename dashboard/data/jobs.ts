import type { Job, JobsFilter } from '@penstock/client';
import { useJobs as useLiveJobs } from '@penstock/client/react';
import { toFault } from './fault.js';
import { graphql } from './graphql.js';
import type { Pages } from './pages.js';

/** The fields of a job that lists show. */
export const JOB_ROW = graphql(`
  fragment JobRow on Job {
    id
    tool
    status
    progress
    modelId
    keyId
    estimatedCredits
    actualCredits
    errorMessage
    inputParams
    outputData
    createdAt
    startedAt
    completedAt
  }
`);

/** A job with the fields that lists show. */
export type JobRow = Pick<
  Job,
  | 'id'
  | 'tool'
  | 'status'
  | 'progress'
  | 'modelId'
  | 'keyId'
  | 'estimatedCredits'
  | 'actualCredits'
  | 'errorMessage'
  | 'inputParams'
  | 'outputData'
  | 'createdAt'
  | 'startedAt'
  | 'completedAt'
>;
/** The kind of a job, such as an image or a video. */
export type JobTool = JobRow['tool'];

/** The organisation's jobs, newest first, updated live. Events change the rows, and new jobs appear at the top. */
export function useJobs(filter: JobsFilter): Pages<JobRow> {
  const { jobs, hasMore, loadMore, error, isLoading, reload } = useLiveJobs(filter);
  return {
    items: jobs,
    hasMore,
    isLoading,
    fault: error && toFault(error),
    more: () => void loadMore(),
    reload,
  };
}
