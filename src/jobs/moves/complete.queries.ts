import type { Database } from '../../database/database.types.js';
import { recordJson } from '../../metering/index.js';
import { storedJson } from '../../text/stored-json.js';
import { BUCKETS, KIND } from '../../contract/words.js';
import type { Amounts } from '../../contract/words.js';
import { createBatcher, wasRolledBack } from '../batcher.js';
import type { CompletedWork, Job } from '../jobs.types.js';

const COMPLETE = { name: 'jobs_complete', text: 'SELECT penstock_jobs_complete($1, $2) AS id' };

function toVector(amounts: Amounts): number[] {
  return BUCKETS.map((bucket) => amounts[bucket] ?? 0);
}

/** The first `{"$file"}` of an output with the id. It has the extension, so it can be signed without a query. */
function findFile(value: unknown, fileId: string): { $file: string } | null {
  if (typeof value !== 'object' || value === null) return null;
  if ('$file' in value && typeof value.$file === 'string') {
    return value.$file.split('.')[0] === fileId ? { $file: value.$file } : null;
  }
  for (const inner of Object.values(value)) {
    const found = findFile(inner, fileId);
    if (found) return found;
  }
  return null;
}

interface Completion {
  job: Job;
  outcome: CompletedWork;
}

function toItem({ job, outcome }: Completion): Record<string, unknown> {
  const { outputFileId } = outcome;
  return {
    id: job.id,
    fence: job.fence,
    outputData: outcome.outputData,
    result: outcome.result,
    amounts: toVector(outcome.amounts),
    fileIds: outcome.fileIds,
    outcome: recordJson(outcome.record),
    // The bucket whose units `generation.completed` reports (contract 6.1).
    unitType: KIND[job.tool].pricing.bucket,
    outputUrl: outputFileId === null ? null : findFile([outcome.outputData, outcome.result], outputFileId),
  };
}

/** Completions are written in this many parallel lanes, which do not wait for each other's locks or disk flushes. */
const LANES = 2;

/** The lane of an organisation: always the same, so that two batches never lock the same balance. */
function laneOf(orgId: string): number {
  return orgId.charCodeAt(orgId.length - 1) % LANES;
}

/**
 * processing → completed with its settlement. Simultaneous completions share one transaction. Returns false if the attempt had lost the job: then
 * nothing was written and nothing charged.
 */
export function createCompletion(
  database: Pick<Database, 'system'>,
  workerId: string,
): (job: Job, outcome: CompletedWork) => Promise<boolean> {
  const run = async (completions: Completion[]): Promise<boolean[]> => {
    const items = storedJson(completions.map(toItem));
    const rows = await database.system.query<{ id: string }>(COMPLETE, [workerId, items]);
    const moved = new Set(rows.map(({ id }) => id));
    return completions.map(({ job }) => moved.has(job.id));
  };
  const lanes = Array.from({ length: LANES }, () =>
    createBatcher<Completion, boolean>({ maxBatch: 128, retryable: wasRolledBack, run }),
  );
  return (job, outcome) => lanes[laneOf(job.orgId)]!.add({ job, outcome });
}
