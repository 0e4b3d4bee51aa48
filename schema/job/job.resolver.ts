import { Arg, Ctx, FieldResolver, ID, Mutation, Query, Resolver, Root } from 'type-graphql';
import type { Job, JobQuery } from '../../src/jobs/jobs.types.js';
import type { JobStatus, Tool } from '../../src/contract/words.js';
import { boundPage } from '../bound.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { JobSort, JobTool } from '../enums.js';
import { Scope } from '../guard.js';
import { JobFilterInput } from './job.input.js';
import { inputOf } from './job-input.type.js';
import { outputOf } from './job-output.type.js';
import { CancelJobResult, JobConnection, JobType } from './job.type.js';

/** How long `poll: true` waits (contract 4.9). */
const POLL_TIMEOUT_MS = 30_000;

const FINISHED: ReadonlySet<string> = new Set<JobStatus>(['completed', 'failed', 'cancelled']);

type JobListArgs = Pick<JobQuery, 'tool' | 'pending' | 'filter'>;

/** Whether a list would contain the job. Its end user is not known here; a token that is bound to a job has its creator's end user. */
function fits(job: Job, { tool, pending, filter = {} }: JobListArgs): boolean {
  const { tools, statuses, models, keyIds, since, until } = filter;
  const among = (value: string, values: readonly string[] | null | undefined): boolean =>
    values == null || values.includes(value);
  return (
    (tool === undefined || job.tool === tool) &&
    !(pending && FINISHED.has(job.status)) &&
    among(job.tool, tools) &&
    among(job.status, statuses) &&
    among(job.model, models) &&
    among(job.keyId, keyIds) &&
    (since == null || job.createdAt >= since) &&
    (until == null || job.createdAt < until)
  );
}

@Resolver(() => JobType)
export class JobResolver {
  @Scope('usage')
  @Query(() => JobType, {
    description: 'One job. With `poll` the answer waits up to 30 seconds for the job to finish.',
  })
  async job(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the job.' }) id: string,
    @Arg('poll', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Wait up to 30 seconds for the job to finish.',
    })
    poll: boolean | null,
  ): Promise<Job> {
    const { orgId } = call.principal;
    if (!poll) return services.jobs.get(orgId, id);
    const leave = services.streams.hold(call.principal);
    return await services.jobs
      .wait(orgId, id, { timeoutMs: POLL_TIMEOUT_MS, signal: call.signal })
      .finally(leave);
  }

  @Scope('usage')
  @Query(() => JobConnection, { description: "The organisation's jobs, newest first." })
  async jobs(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('tool', () => JobTool, { nullable: true, description: 'Only jobs of one kind.' }) tool:
      | Tool
      | null
      | undefined,
    @Arg('pending', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Only jobs that are not finished.',
    })
    pending: boolean | null,
    @Arg('filter', () => JobFilterInput, { nullable: true, description: 'Default: all jobs.' })
    given: JobFilterInput | null | undefined,
    @Arg('sort', () => JobSort, { defaultValue: 'newest', description: 'Default: the newest first.' })
    sort: 'newest' | 'oldest',
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Job>> {
    const { orgId } = call.principal;
    const requested = {
      ...(tool == null ? {} : { tool }),
      ...(given == null ? {} : { filter: given }),
      pending: pending ?? false,
    };
    const own = await boundPage(call, {
      kind: 'job',
      after,
      get: (id) => services.jobs.get(orgId, id),
      wants: (job) => fits(job, requested),
    });
    if (own !== undefined) return toConnection(own, after);
    const page = await services.jobs.list(orgId, {
      ...requested,
      ...pageQuery({ first, after, last, before }),
      oldestFirst: sort === 'oldest',
    });
    return toConnection({ ...page, count: () => services.jobs.count(orgId, requested) }, after);
  }

  @Scope('usage')
  @Mutation(() => CancelJobResult, {
    description: 'Cancels a pending or processing job. Nothing is charged.',
  })
  async cancelJob(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the job.' }) id: string,
  ): Promise<{ success: boolean; job: Job }> {
    return { success: true, job: await services.jobs.cancel(call.principal.orgId, id) };
  }

  @FieldResolver()
  inputParams(@Root() job: Job, @Ctx() { services }: GraphqlContext): Record<string, unknown> {
    return services.files.sign(job.orgId, job.inputParams);
  }

  @FieldResolver()
  input(@Root() job: Job, @Ctx() { services }: GraphqlContext): object {
    return inputOf(job, services.files.sign(job.orgId, job.inputParams));
  }

  @FieldResolver()
  output(@Root() job: Job, @Ctx() { services }: GraphqlContext): object | null {
    const data = job.outputData === null ? undefined : job.result?.['data'];
    return data === undefined ? null : outputOf(job, services.files.sign(job.orgId, { data })['data']);
  }

  @FieldResolver()
  outputData(@Root() job: Job, @Ctx() { services }: GraphqlContext): Record<string, unknown> | null {
    return services.files.sign(job.orgId, job.outputData);
  }
}
