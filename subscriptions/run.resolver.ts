import { Arg, ID, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  AgentRunEvent,
  AgentRunUpdate,
  boundTo,
  requireAgents,
  Scope,
  type GraphqlContext,
} from '../schema/index.js';
import type { RunEvent, RunStep, StepType } from '../src/agents/agents.types.js';

interface Args {
  runId: string;
  after?: number | null;
  agentId?: string | null;
}

function watchRun({ args, context }: SubscribeResolverData<unknown, Args, GraphqlContext>) {
  const { call, services } = context;
  requireAgents(call);
  const after = args.after ?? undefined;
  return services.runEvents.steps({
    principal: call.principal,
    agentId: args.agentId ?? null,
    runId: args.runId,
    ...(after === undefined ? {} : { after }),
  });
}

function watchRuns({
  args,
  context,
}: SubscribeResolverData<unknown, { agentId?: string | null; after?: string | null }, GraphqlContext>) {
  const { call, services } = context;
  requireAgents(call);
  const [run, agent] = [boundTo(call, 'run'), boundTo(call, 'agent')];
  // A token may be bound to a run or to an agent; either binding limits the visible runs.
  const own =
    run !== null && run !== undefined ? { runId: run } : agent === undefined ? {} : { agentId: agent };
  const { agentId, after } = args;
  const requested =
    agentId == null ? {} : { agentId: 'agentId' in own && own.agentId !== agentId ? null : agentId };
  return services.runEvents.updates({
    orgId: call.principal.orgId,
    ...own,
    ...requested,
    ...(after == null ? {} : { after }),
  });
}

/** The step of an event, from the stream's spelling (contract 6.2). */
function stepOf({ data, createdAt, run }: RunEvent): RunStep | null {
  const step = data['step'] as Record<string, unknown> | undefined;
  if (step === undefined) return null;
  return {
    stepNumber: step['step_number'] as number,
    stepType: step['type'] as StepType,
    content: (step['content'] as string | undefined) ?? null,
    toolName: (step['tool'] as string | undefined) ?? null,
    toolInput: (step['tool_input'] as RunStep['toolInput'] | undefined) ?? null,
    toolOutput: (step['tool_output'] as RunStep['toolOutput'] | undefined) ?? null,
    createdAt,
    runTokens: run.tokensUsed,
    runCredits: run.creditsUsed,
  };
}

/** Live runs (decisions 8). */
@Resolver()
export class AgentRunSubscriptionResolver {
  @Scope('agents')
  @Subscription(() => AgentRunEvent, {
    subscribe: watchRun,
    description:
      'The events of one run. Without `after` the first item is the latest event. With `after` only the events after that one are sent (0: all events). It completes after the last event.',
  })
  agentRunSteps(
    @Root() event: RunEvent,
    @Arg('runId', () => ID, { description: 'Id of the run.' }) _runId: string,
    @Arg('after', () => Int, {
      nullable: true,
      description: 'The sequence of the last event that you received.',
    })
    _after?: number,
    @Arg('agentId', () => ID, {
      nullable: true,
      description: 'If given, the run must belong to this agent.',
    })
    _agentId?: string,
  ): AgentRunEvent {
    const { sequence, type, run } = event;
    return { sequence, type, run, step: stepOf(event) } as unknown as AgentRunEvent;
  }

  @Scope('agents')
  @Subscription(() => AgentRunUpdate, {
    subscribe: watchRuns,
    description:
      'The events of all runs of the organisation. Without `after` it begins now. With `after` exactly the events after that one are sent, each once, including events from the time without a connection. It does not complete.',
  })
  agentRunUpdates(
    @Root() event: RunEvent & { cursor: string },
    @Arg('agentId', () => ID, { nullable: true, description: 'Only runs of one agent.' }) _agentId?: string,
    @Arg('after', () => String, {
      nullable: true,
      description: 'The cursor of the last event that you received.',
    })
    _after?: string,
  ): AgentRunUpdate {
    const { cursor, sequence, type, run } = event;
    return { cursor, sequence, type, run, step: stepOf(event) } as unknown as AgentRunUpdate;
  }
}
