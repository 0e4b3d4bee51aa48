import type { Database } from '../../database/database.types.js';
import { ApiError } from '../../contract/errors.js';
import { toKeyLostError } from '../../idempotency/index.js';
import { createBatcher, wasRolledBack } from '../batcher.js';
import type { Job, NewJob } from '../jobs.types.js';

const CREATE = { name: 'jobs_create', text: 'SELECT penstock_jobs_create($1) AS answers' };

/** How long a client should wait before it tries again; nobody knows when one of the organisation's jobs ends. */
const RETRY_AFTER_SECONDS = 5;

/** Unfinished jobs up to the limit. */
const UNFINISHED = {
  name: 'jobs_unfinished',
  text: `SELECT count(*)::int AS unfinished FROM (
      SELECT 1 FROM jobs WHERE org_id = $1 AND status IN ('pending', 'processing') LIMIT $2) o`,
};

const tooMany = (): ApiError =>
  new ApiError('rate_limited', 'Too many pending jobs', { retryAfter: RETRY_AFTER_SECONDS });

/** @throws ApiError rate_limited `Too many pending jobs` */
export async function requireRoom(
  database: Pick<Database, 'system'>,
  { orgId, plan: { maxPendingJobs } }: NewJob['principal'],
): Promise<void> {
  const [row] = await database.system.query<{ unfinished: number }>(UNFINISHED, [orgId, maxPendingJobs]);
  if ((row?.unfinished ?? 0) >= maxPendingJobs) throw tooMany();
}

interface Answer {
  id: string;
  /** Null: refused. */
  createdAt: string | null;
}

function toItem(input: NewJob): Record<string, unknown> {
  const { principal } = input;
  return {
    id: input.id,
    orgId: principal.orgId,
    userId: principal.userId,
    keyId: principal.keyId,
    tool: input.tool,
    inputParams: input.inputParams,
    estimatedCredits: input.estimatedCredits,
    model: input.model,
    modelTier: input.modelTier,
    multiplier: input.multiplier,
    operationId: input.operationId,
    requestId: input.requestId,
    client: input.client,
    countedFor: input.countedFor ?? null,
    fileIds: input.fileIds,
    idempotencyKey: input.idempotencyKey ?? null,
    live: input.live ?? null,
    maxPending: principal.plan.maxPendingJobs,
  };
}

function toCreated(input: NewJob, createdAt: string): Job {
  const { principal } = input;
  return {
    id: input.id,
    orgId: principal.orgId,
    userId: principal.userId,
    keyId: principal.keyId,
    tool: input.tool,
    status: 'pending',
    progress: 0,
    inputParams: input.inputParams,
    outputData: null,
    result: null,
    estimatedCredits: input.estimatedCredits,
    actualCredits: null,
    errorMessage: null,
    errorCode: null,
    createdAt: new Date(createdAt),
    startedAt: null,
    completedAt: null,
    model: input.model,
    modelTier: input.modelTier,
    multiplier: input.multiplier,
    operationId: input.operationId,
    requestId: input.requestId,
    attempt: 0,
    fence: 0,
    sequence: 1,
    live: input.live ?? null,
  };
}

function byOrganisation({ principal: a }: NewJob, { principal: b }: NewJob): number {
  if (a.orgId === b.orgId) return 0;
  return a.orgId < b.orgId ? -1 : 1;
}

/**
 * (none) → pending. Concurrent creates share a transaction.
 * @throws ApiError rate_limited `Too many pending jobs`; conflict if another request has taken the call's Idempotency-Key meanwhile
 */
export function createJobCreation(database: Pick<Database, 'system'>): (input: NewJob) => Promise<Job> {
  const batcher = createBatcher<NewJob, Answer | undefined>({
    maxBatch: 32,
    retryable: wasRolledBack,
    async run(inputs) {
      // Sorted by organisation: every batch locks balances in this order.
      const sorted = inputs.toSorted(byOrganisation);
      const values = [JSON.stringify(sorted.map(toItem))];
      const [row] = await database.system.query<{ answers: Answer[] }>(CREATE, values);
      const answers = new Map(row?.answers.map((answer) => [answer.id, answer]));
      return inputs.map(({ id }) => answers.get(id));
    },
  });
  return async (input) => {
    const answer = await batcher.add(input).catch((error: unknown) => {
      throw toKeyLostError(error);
    });
    if (!answer?.createdAt) throw tooMany();
    return toCreated(input, answer.createdAt);
  };
}
