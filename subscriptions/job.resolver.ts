import { Arg, ID, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import { boundTo, JobProgress, JobTool, JobUpdate, Scope, type GraphqlContext } from '../schema/index.js';
import type { JobEvent } from '../src/jobs/jobs.types.js';
import type { Tool } from '../src/contract/words.js';

type Subscribing<Args> = SubscribeResolverData<unknown, Args, GraphqlContext>;

function watchJob({ args, context }: Subscribing<{ id: string; after?: number | null }>) {
  const { call, services } = context;
  const after = args.after ?? undefined;
  const query = { orgId: call.principal.orgId, jobId: args.id, ...(after === undefined ? {} : { after }) };
  return services.jobEvents.progress(query);
}

function watchJobs({ args, context }: Subscribing<{ tool?: Tool | null; after?: string | null }>) {
  const { call, services } = context;
  const tool = args.tool ?? undefined;
  const jobId = boundTo(call, 'job');
  const own = jobId === undefined ? {} : { jobId };
  return services.jobEvents.updates({
    orgId: call.principal.orgId,
    ...own,
    ...(tool === undefined ? {} : { tool }),
    ...(args.after == null ? {} : { after: args.after }),
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
  @Subscription(() => JobUpdate, {
    subscribe: watchJobs,
    description:
      'The events of all jobs of the organisation. Without `after` it begins now. With `after` exactly the events after that one are sent, each once, including events from the time without a connection. It does not complete.',
  })
  jobUpdates(
    @Root() event: JobEvent & { cursor: string },
    @Arg('tool', () => JobTool, { nullable: true, description: 'Only jobs of one kind.' }) _tool?: Tool,
    @Arg('after', () => String, {
      nullable: true,
      description: 'The cursor of the last event that you received.',
    })
    _after?: string,
  ): JobUpdate {
    return event as unknown as JobUpdate;
  }
}
