import { Arg, Ctx, FieldResolver, ID, Mutation, Query, Resolver, Root } from 'type-graphql';
import type { Job } from '../../src/jobs/jobs.types.js';
import type { JobStatus, Tool } from '../../src/contract/words.js';
import { boundPage } from '../bound.js';
import { After, checkFirst, toConnection, First } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { JobTool } from '../enums.js';
import { Scope } from '../guard.js';
import { CancelJobResult, JobConnection, JobType } from './job.type.js';

/** How long `poll: true` waits (contract 4.9). */
const POLL_TIMEOUT_MS = 30_000;

const FINISHED: ReadonlySet<string> = new Set<JobStatus>(['completed', 'failed', 'cancelled']);

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
    @First() first: number | null,
    @After() after: string | null | undefined,
  ): Promise<Connection<Job>> {
    const { orgId } = call.principal;
    const query = {
      ...(tool == null ? {} : { tool }),
      ...(after == null ? {} : { after }),
      pending: pending ?? false,
      first: checkFirst(first),
    };
    const own = await boundPage(call, {
      kind: 'job',
      after,
      get: (id) => services.jobs.get(orgId, id),
      wants: (job) => (tool == null || job.tool === tool) && !(query.pending && FINISHED.has(job.status)),
    });
    const page = own ?? (await services.jobs.list(orgId, query));
    return toConnection(page, after);
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
  outputData(@Root() job: Job, @Ctx() { services }: GraphqlContext): Record<string, unknown> | null {
    return services.files.sign(job.orgId, job.outputData);
  }
}
