import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { Agent } from '../../src/agents/agents.types.js';
import { After, checkFirst, toConnection, First } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { requireAgents, Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { CreateAgentInput, DuplicateAgentInput, UpdateAgentInput } from './agent.input.js';
import { AgentConnection, AgentType, DeleteAgentResult } from './agent.type.js';

const bodyOf = (context: GraphqlContext, input: object | null | undefined): Record<string, unknown> =>
  context.body ?? contractNames(input ?? {});

@Resolver(() => AgentType)
export class AgentResolver {
  @Scope('agents')
  @Query(() => AgentConnection, {
    description: "The organisation's agents, newest first; then, where asked for, the templates.",
  })
  async agents(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('includeTemplates', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Also list the templates.',
    })
    includeTemplates: boolean | null,
    @Arg('templateCategory', () => String, {
      nullable: true,
      description:
        'Of the templates only those of one category: research, content, coding, analysis, support or productivity.',
    })
    templateCategory: string | null | undefined,
    @First(50) first: number | null,
    @After() after: string | null | undefined,
  ): Promise<Connection<Agent>> {
    requireAgents(call);
    const page = await services.agents.list(call.principal, {
      includeTemplates: includeTemplates ?? false,
      ...(templateCategory == null ? {} : { templateCategory }),
      first: checkFirst(first ?? 50),
      ...(after == null ? {} : { after }),
    });
    return toConnection(page, after);
  }

  @Scope('agents')
  @Query(() => AgentType, { description: "One agent: the organisation's own, a template or a public one." })
  agent(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
  ): Promise<Agent> {
    return services.agents.get(call.principal, id);
  }

  @Scope('agents')
  @Mutation(() => AgentType, { description: 'Makes an agent; the plan bounds how many an organisation has.' })
  createAgent(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateAgentInput, { description: 'The new agent.' }) input: CreateAgentInput,
  ): Promise<Agent> {
    return context.services.agents.create(context.call, bodyOf(context, input));
  }

  @Scope('agents')
  @Mutation(() => AgentType, {
    description: 'Changes an agent of the organisation; runs under way keep what they began with.',
  })
  updateAgent(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
    @Arg('input', () => UpdateAgentInput, { description: 'What changes.' }) input: UpdateAgentInput,
  ): Promise<Agent> {
    return context.services.agents.update(context.call.principal, id, bodyOf(context, input));
  }

  @Scope('agents')
  @Mutation(() => DeleteAgentResult, {
    description: 'Deletes an agent with its knowledge; its runs stay readable.',
  })
  async deleteAgent(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
  ): Promise<DeleteAgentResult> {
    await services.agents.delete(call.principal, id);
    return { success: true };
  }

  @Scope('agents')
  @Mutation(() => AgentType, { description: 'Copies an own agent, a template or a public agent.' })
  duplicateAgent(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of an own agent, a template or a public agent.' }) id: string,
    @Arg('input', () => DuplicateAgentInput, {
      nullable: true,
      description: 'Default: named `<name> (copy)`.',
    })
    input: DuplicateAgentInput | null | undefined,
  ): Promise<Agent> {
    return context.services.agents.duplicate(context.call, id, bodyOf(context, input));
  }
}
