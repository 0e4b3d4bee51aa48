import type { Route } from '../shared/route.types.js';

/** Contract 2.10. */
const JOB = `
  id orgId userId tool status progress inputParams outputData estimatedCredits actualCredits errorMessage
  createdAt startedAt completedAt model: modelId modelTier`;

const JOB_ID = { jobId: { description: "The job's id.", example: 'job_01jd0000000000000000000000' } };

export const jobRoutes: Route[] = [
  {
    method: 'GET',
    path: '/jobs',
    operationId: 'listJobs',
    tag: 'Jobs',
    summary: 'List jobs, newest first',
    document: `query ($tool: JobTool, $pending: Boolean = false, $limit: Int = 20, $cursor: String) {
      body: jobs(tool: $tool, pending: $pending, first: $limit, after: $cursor) {
        jobs: nodes { ${JOB} } next_cursor: nextCursor
      }
    }`,
    parameters: {
      tool: { description: 'Only jobs of this kind.' },
      pending: { description: 'Only pending and processing jobs.' },
      limit: { description: 'The maximum of jobs in the page.', minimum: 1, maximum: 100 },
      cursor: {
        description: '`next_cursor` of the previous page.',
        pattern: '^job_[0-9a-z]{26}$',
      },
    },
    schemaName: 'JobList',
  },
  {
    method: 'GET',
    path: '/jobs/{jobId}',
    operationId: 'getJob',
    tag: 'Jobs',
    summary: 'Read a job',
    document: `query ($jobId: ID!, $poll: Boolean = false) { body: job(id: $jobId, poll: $poll) { ${JOB} } }`,
    parameters: {
      ...JOB_ID,
      poll: { description: 'True: the answer waits up to 30 seconds for the job to finish.' },
    },
    readsDuringAdmission: true,
    schemaName: 'Job',
  },
  {
    method: 'DELETE',
    path: '/jobs/{jobId}',
    operationId: 'cancelJob',
    tag: 'Jobs',
    summary: 'Cancel a pending or processing job',
    document: `mutation ($jobId: ID!) { body: cancelJob(id: $jobId) { success } }`,
    parameters: JOB_ID,
    schemaName: 'Success',
  },
  {
    method: 'GET',
    path: '/jobs/{jobId}/stream',
    operationId: 'streamJob',
    tag: 'Jobs',
    summary: 'Follow a job as Server-Sent Events',
    description:
      "Each event has its sequence as `id:`. With `Last-Event-ID` exactly the events after it are sent; without it, the job's current state is sent first. The stream ends after the last event.",
    document: `subscription ($jobId: ID!, $after: Int) {
      body: jobProgress(id: $jobId, after: $after) { sequence type job { ${JOB} } }
    }`,
    parameters: JOB_ID,
    schemaName: 'JobEvent',
  },
];
