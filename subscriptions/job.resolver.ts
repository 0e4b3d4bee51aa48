import { Arg, ID, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import { boundTo, JobProgress, JobTool, Scope, type GraphqlContext } from '../schema/index.js';
import type { JobEvent } from '../src/jobs/jobs.types.js';
import type { Tool } from '../src/contract/words.js';

type Subscribing<Args> = SubscribeResolverData<unknown, Args, GraphqlContext>;

function watchJob({ args, context }: Subscribing<{ id: string; after?: number | null }>) {
  const { call, services } = context;
  const after = args.after ?? undefined;
  const query = { orgId: call.principal.orgId, jobId: args.id, ...(after === undefined ? {} : { after }) };
  return services.jobEvents.progress(query);
}

function watchJobs({ args, context }: Subscribing<{ tool?: Tool | null }>) {
  const { call, services } = context;
  const tool = args.tool ?? undefined;
  const jobId = boundTo(call, 'job');
  const own = jobId === undefined ? {} : { jobId };
  return services.jobEvents.updates({
    orgId: call.principal.orgId,
    ...own,
    ...(tool === undefined ? {} : { tool }),
  });
}

/** Live jobs (decisions 8): their events are the hub's, shared by all subscribers of a process. */
@Resolver()
export class JobSubscriptionResolver {
  @Scope('usage')
  @Subscription(() => JobProgress, {
    subscribe: watchJob,
    description:
      'The events of one job. Without `after` the first item is the current state of the job. With `after` only the events after that one are sent. It completes after the last event.',
  })
  jobProgress(
    @Root() event: JobEvent,
    @Arg('id', () => ID, { description: 'Id of the job.' }) _id: string,
    @Arg('after', () => Int, {
      nullable: true,
      description: 'The sequence of the last event that you received.',
    })
    _after?: number,
  ): JobProgress {
    return event as JobProgress;
  }

  @Scope('usage')
  @Subscription(() => JobProgress, {
    subscribe: watchJobs,
    description: 'New events of all jobs of the organisation.',
  })
  jobUpdates(
    @Root() event: JobEvent,
    @Arg('tool', () => JobTool, { nullable: true, description: 'Only jobs of one kind.' }) _tool?: Tool,
  ): JobProgress {
    return event as JobProgress;
  }
}
