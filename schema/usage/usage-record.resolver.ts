import { Arg, Ctx, FieldResolver, Query, Resolver, Root } from 'type-graphql';
import type { AgentRun } from '../../src/agents/agents.types.js';
import type { Job } from '../../src/jobs/jobs.types.js';
import type { UsageRecord, UsageRecordFilter } from '../../src/usage/usage.types.js';
import { AgentRunType } from '../agent/run.type.js';
import { loadOne } from '../batch.js';
import { After, checkFirst, toConnection, First } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { requireScope, Scope } from '../guard.js';
import { JobType } from '../job/job.type.js';
import { parseResponse } from '../response/response.shape.js';
import { Response } from '../response/response.type.js';
import { DateTime, SafeInt } from '../scalars.js';
import { bucketAmounts, UsageKey, UsageRecordConnection, UsageRecordType } from './usage-record.type.js';
import { UsageRecordFilterInput } from './usage.input.js';

type Shown = Omit<UsageRecordType, 'key' | 'job' | 'run' | 'response'>;

/** A page knows what it is a page of: who asks for the number of all has them counted. */
interface RecordPage extends Connection<Shown> {
  filter: UsageRecordFilter;
}

function shown(record: UsageRecord): Shown {
  return { ...record, amounts: bucketAmounts(record.amounts), granted: bucketAmounts(record.granted) };
}

const byId = <Item extends { id: string }>(items: readonly Item[]): Map<string, Item> =>
  new Map(items.map((item) => [item.id, item]));

@Resolver(() => UsageRecordConnection)
export class UsageRecordResolver {
  @Scope('usage')
  @Query(() => UsageRecordConnection, { description: "The organisation's metered operations, newest first." })
  async usageRecords(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('filter', () => UsageRecordFilterInput, { nullable: true, description: 'Default: all operations.' })
    given: UsageRecordFilterInput | null | undefined,
    @Arg('since', () => DateTime, {
      nullable: true,
      description: 'As `since` of the filter, which comes first.',
    })
    since: Date | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
  ): Promise<RecordPage> {
    const filter = { ...given, since: given?.since ?? since };
    const page = await services.usage.records({
      orgId: call.principal.orgId,
      filter,
      first: checkFirst(first),
      ...(after == null ? {} : { after }),
    });
    return { ...toConnection({ ...page, nodes: page.nodes.map(shown) }, after), filter };
  }

  @FieldResolver(() => SafeInt, { description: 'How many records there are on all pages.' })
  totalCount(@Root() page: RecordPage, @Ctx() { call, services }: GraphqlContext): Promise<number> {
    return services.usage.count(call.principal.orgId, page.filter);
  }
}

/** What records refer to: one statement for each kind, however long the page is. What is gone, or was never kept, is null. */
@Resolver(() => UsageRecordType)
export class UsageRecordEdges {
  @FieldResolver(() => UsageKey, { nullable: true, description: 'The key that made the call.' })
  async key(@Root() { keyId }: Shown, @Ctx() { call, services }: GraphqlContext): Promise<UsageKey | null> {
    if (keyId === null) return null;
    return loadOne(call, keyId, {
      key: services.keys,
      read: async ({ principal }, ids) => byId(await services.keys.namesOf(principal.orgId, ids)),
    });
  }

  @FieldResolver(() => JobType, { nullable: true, description: 'The job that it was charged for.' })
  async job(@Root() { jobId }: Shown, @Ctx() { call, services }: GraphqlContext): Promise<Job | null> {
    if (jobId === null) return null;
    return loadOne(call, jobId, {
      key: services.jobs,
      read: async ({ principal }, ids) => byId(await services.jobs.getMany(principal.orgId, ids)),
    });
  }

  @FieldResolver(() => AgentRunType, {
    nullable: true,
    description: 'The run that it was charged for, or whose agent made the call. Needs the scope `agents`.',
  })
  async run(
    @Root() { runId, parentRunId }: Shown,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<AgentRun | null> {
    const id = runId ?? parentRunId;
    if (id === null) return null;
    requireScope(call, 'agents');
    return loadOne(call, id, {
      key: services.agentRuns,
      read: async ({ principal }, ids) => byId(await services.agentRuns.getMany(principal, ids)),
    });
  }

  @FieldResolver(() => Response, {
    nullable: true,
    description: 'The stored response that it was charged for. Needs the scope `chat`.',
  })
  async response(
    @Root() { id, operation }: Shown,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<Response | null> {
    if (operation !== 'chat') return null;
    requireScope(call, 'chat');
    // A response and its operation have the same ULID.
    const text = await loadOne(call, id.replace(/^op_/, 'resp_'), {
      key: services.responses,
      read: ({ principal }, ids) => services.responses.texts(principal.orgId, ids),
    });
    return text === null ? null : parseResponse(text);
  }
}
