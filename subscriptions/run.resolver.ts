import { Arg, ID, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import { AgentRunEvent, requireAgents, Scope, type GraphqlContext } from '../schema/index.js';
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

/** The step of an event, from the stream's spelling (contract 6.2). */
function stepOf({ data }: RunEvent): RunStep | null {
  const step = data['step'] as Record<string, unknown> | undefined;
  if (step === undefined) return null;
  return {
    stepNumber: step['step_number'] as number,
    stepType: step['type'] as StepType,
    content: (step['content'] as string | undefined) ?? null,
    toolName: (step['tool'] as string | undefined) ?? null,
    toolInput: (step['tool_input'] as RunStep['toolInput'] | undefined) ?? null,
    toolOutput: (step['tool_output'] as RunStep['toolOutput'] | undefined) ?? null,
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
}
