import { Arg, Ctx, FieldResolver, ID, Query, Resolver, Root } from 'type-graphql';
import type { AgentRun } from '../../src/agents/agents.types.js';
import type { Job } from '../../src/jobs/jobs.types.js';
import { AgentRunType } from '../agent/run.type.js';
import { loadOne } from '../batch.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { requireScope, Scope } from '../guard.js';
import { JobType } from '../job/job.type.js';
import { ModelObject, modelOf } from '../model/model.type.js';
import { parseResponse } from '../response/response.shape.js';
import { Response } from '../response/response.type.js';
import { DateTime } from '../scalars.js';
import {
  showRecord,
  UsageKey,
  UsageRecordConnection,
  UsageRecordType,
  type ShownRecord as Shown,
} from './usage-record.type.js';
import { UsageRecordFilterInput } from './usage.input.js';

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
      description: 'Like `since` of the filter, which has priority.',
    })
    since: Date | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Shown>> {
    const filter = { ...given, since: given?.since ?? since };
    const { orgId } = call.principal;
    const query = { orgId, filter, ...pageQuery({ first, after, last, before }) };
    const page = await services.usage.records(query);
    const count = () => services.usage.count(orgId, filter);
    return toConnection({ ...page, nodes: page.nodes.map(showRecord), count }, after);
  }
}

/** The objects that records refer to; one statement for each kind, for a page of any length. Objects that were deleted or never stored are null. */
@Resolver(() => UsageRecordType)
export class UsageRecordEdges {
  @FieldResolver(() => ID, { nullable: true, description: 'Id of the requested model, if any.' })
  modelId(@Root() { model }: Shown): string | null {
    return model;
  }

  @FieldResolver(() => ModelObject, {
    nullable: true,
    description: 'The requested model; null if there is none, or it is no longer in the catalogue.',
  })
  model(@Root() { model }: Shown, @Ctx() { services }: GraphqlContext): ModelObject | null {
    return modelOf(services.models, model);
  }

  @FieldResolver(() => ID, {
    nullable: true,
    description: 'Id of the model that answered, which may be a fallback. Null if none did.',
  })
  answeredModelId(@Root() { answeredModel }: Shown): string | null {
    return answeredModel;
  }

  @FieldResolver(() => ModelObject, {
    nullable: true,
    description: 'The model that answered; null if none did, or it is no longer in the catalogue.',
  })
  answeredModel(@Root() record: Shown, @Ctx() { services }: GraphqlContext): ModelObject | null {
    return modelOf(services.models, record.answeredModel);
  }

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
