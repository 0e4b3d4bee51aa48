import { Arg, Ctx, FieldResolver, ID, Mutation, Query, Resolver, Root } from 'type-graphql';
import type { AgentRun, RunStatus, RunStep } from '../../src/agents/agents.types.js';
import { loadOne } from '../batch.js';
import { boundPage, boundTo } from '../bound.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import { notFound } from '../../src/contract/errors.js';
import type { GraphqlContext } from '../context.js';
import { AgentRunStatus } from '../enums.js';
import { Metered, requireAgents, Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { RunAgentInput } from './agent.input.js';
import { AgentRunConnection, AgentRunType, RunAttachment } from './run.type.js';

/** Nested inputs have the same spelling in the contract; only the first level differs. */
function runBody(context: GraphqlContext, input: RunAgentInput): Record<string, unknown> {
  return context.body ?? contractNames(input);
}

interface RunsQuery {
  agentId: string;
  status?: RunStatus;
  sessionId?: string;
  after?: string;
}

/** The visible runs of a token that is bound to a run: only that run, in the list of its agent. @throws ApiError not_found for another agent */
async function ownRuns(
  { call, services }: GraphqlContext,
  { agentId, status, sessionId, after }: RunsQuery,
): Promise<{ nodes: AgentRun[]; nextCursor: string | null } | undefined> {
  if (boundTo(call, 'run') == null) return undefined;
  return await boundPage(call, {
    kind: 'run',
    after,
    get: async (id) => {
      const run = await services.agentRuns.get(call.principal, null, id);
      if (run.agentId !== agentId) throw notFound('Agent not found');
      return run;
    },
    wants: (run) =>
      (status === undefined || run.status === status) &&
      (sessionId === undefined || run.sessionId === sessionId),
  });
}

@Resolver(() => AgentRunType)
export class AgentRunResolver {
  @Scope('agents')
  @Query(() => AgentRunType, { description: 'One run of the organisation, with its steps.' })
  agentRun(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the run.' }) id: string,
    @Arg('agentId', () => ID, {
      nullable: true,
      description: 'If given, the run must belong to this agent.',
    })
    agentId: string | null | undefined,
  ): Promise<AgentRun> {
    return services.agentRuns.get(call.principal, agentId ?? null, id);
  }

  @Scope('agents')
  @Query(() => AgentRunConnection, { description: "The organisation's runs of one agent, newest first." })
  async agentRuns(
    @Ctx() context: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of the agent.' }) agentId: string,
    @Arg('status', () => AgentRunStatus, { nullable: true, description: 'Only runs in this state.' })
    status: RunStatus | null | undefined,
    @Arg('sessionId', () => ID, { nullable: true, description: 'Only runs of this conversation.' })
    sessionId: string | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<AgentRun>> {
    const { call, services } = context;
    requireAgents(call);
    const query = {
      ...(status == null ? {} : { status }),
      ...(sessionId == null ? {} : { sessionId }),
      ...pageQuery({ first, after, last, before }),
    };
    const page =
      (await ownRuns(context, { agentId, ...query })) ??
      (await services.agentRuns.list(call.principal, agentId, query));
    return toConnection(page, after);
  }

  @Metered('agents')
  @Mutation(() => AgentRunType, {
    description:
      'Starts a run and returns at once. Subscribe to `agentRunSteps(runId:, after: 0)` to follow it.',
  })
  runAgent(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
    @Arg('input', () => RunAgentInput, { description: 'The task.' }) input: RunAgentInput,
  ): Promise<AgentRun> {
    return context.services.agentRuns.start(context.call, id, runBody(context, input));
  }

  @Scope('agents')
  @Mutation(() => AgentRunType, { description: 'Cancels a run. It is charged for its use until then.' })
  cancelAgentRun(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the run.' }) id: string,
    @Arg('agentId', () => ID, {
      nullable: true,
      description: 'If given, the run must belong to this agent.',
    })
    agentId: string | null | undefined,
  ): Promise<AgentRun> {
    return services.agentRuns.cancel(call.principal, agentId ?? null, id);
  }

  @FieldResolver()
  output(@Root() run: AgentRun, @Ctx() { services }: GraphqlContext): string | null {
    return services.files.sign(run.orgId, run.output, run.createdAt);
  }

  /** The steps that the run had at that time: the run of an event has no later steps. */
  @FieldResolver()
  async steps(@Root() run: AgentRun, @Ctx() { services, call }: GraphqlContext): Promise<RunStep[]> {
    const { agentRuns } = services;
    const { orgId, createdAt } = run;
    const key = agentRuns.stepsOf;
    const steps = await loadOne(call, run.id, { key, read: (_, ids) => agentRuns.stepsOf(orgId, ids) });
    const had = (steps ?? []).filter(({ stepNumber }) => stepNumber <= run.totalSteps);
    const shown = <T>(value: T): T => services.files.sign(orgId, value, createdAt);
    return had.map((step) => ({ ...step, content: shown(step.content), toolOutput: shown(step.toolOutput) }));
  }

  @FieldResolver(() => [RunAttachment], { description: 'The files that came with the task.' })
  async attachments(
    @Root() { id, orgId }: AgentRun,
    @Ctx() { services, call }: GraphqlContext,
  ): Promise<RunAttachment[]> {
    const { agentRuns, files } = services;
    const key = agentRuns.attachmentsOf;
    const attached = await loadOne(call, id, {
      key,
      read: (_, ids) => agentRuns.attachmentsOf(orgId, ids),
    });
    return (attached ?? []).map(({ type, name, file }) => ({
      type,
      name,
      url: file && files.url({ orgId, ...file }),
    }));
  }
}
