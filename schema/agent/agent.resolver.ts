import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { Agent } from '../../src/agents/agents.types.js';
import { boundPage } from '../bound.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { requireAgents, Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { AgentToolType, showTool } from './agent-tool.type.js';
import { CreateAgentInput, DuplicateAgentInput, UpdateAgentInput } from './agent.input.js';
import { AgentConnection, AgentType, DeleteAgentResult } from './agent.type.js';
import { AgentTemplateCategory } from '../enums.js';

const bodyOf = (context: GraphqlContext, input: object | null | undefined): Record<string, unknown> =>
  context.body ?? contractNames(input ?? {});

@Resolver(() => AgentType)
export class AgentResolver {
  @Scope('agents')
  @Query(() => AgentConnection, {
    description: "The organisation's agents, newest first, then the templates if `includeTemplates` is true.",
  })
  async agents(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('includeTemplates', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Also list the templates.',
    })
    includeTemplates: boolean | null,
    @Arg('templateCategory', () => AgentTemplateCategory, {
      nullable: true,
      description: 'Only templates of this category.',
    })
    templateCategory: string | null | undefined,
    @First(50) first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Agent>> {
    requireAgents(call);
    const query = {
      includeTemplates: includeTemplates ?? false,
      ...(templateCategory == null ? {} : { templateCategory }),
      ...pageQuery({ first: first ?? 50, after, last, before }),
    };
    const own = await boundPage(call, {
      kind: 'agent',
      after,
      get: (id) => services.agents.get(call.principal, id),
      wants: ({ isTemplate }) => query.includeTemplates || !isTemplate,
    });
    const page = own ?? (await services.agents.list(call.principal, query));
    return toConnection(page, after);
  }

  @Scope('agents')
  @Query(() => AgentType, {
    description: 'One agent: an agent of the organisation, a template or a public agent.',
  })
  agent(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
  ): Promise<Agent> {
    return services.agents.get(call.principal, id);
  }

  @Scope('agents')
  @Query(() => [AgentToolType], {
    description: 'The tools that agents can be granted, those of MCP servers last.',
  })
  agentTools(@Ctx() { call, services }: GraphqlContext): AgentToolType[] {
    requireAgents(call);
    return services.agentTools.list().map(showTool);
  }

  @Scope('agents')
  @Mutation(() => AgentType, { description: 'Creates an agent. The plan limits the number of agents.' })
  createAgent(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateAgentInput, { description: 'The new agent.' }) input: CreateAgentInput,
  ): Promise<Agent> {
    return context.services.agents.create(context.call, bodyOf(context, input));
  }

  @Scope('agents')
  @Mutation(() => AgentType, {
    description: 'Changes an agent of the organisation. Runs that have started keep the old settings.',
  })
  updateAgent(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
    @Arg('input', () => UpdateAgentInput, { description: 'The changes.' }) input: UpdateAgentInput,
  ): Promise<Agent> {
    return context.services.agents.update(context.call.principal, id, bodyOf(context, input));
  }

  @Scope('agents')
  @Mutation(() => DeleteAgentResult, {
    description: 'Deletes an agent and its knowledge files. Its runs stay readable.',
  })
  async deleteAgent(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent.' }) id: string,
  ): Promise<DeleteAgentResult> {
    return { id, success: true, agent: await services.agents.delete(call.principal, id) };
  }

  @Scope('agents')
  @Mutation(() => AgentType, {
    description: 'Copies an agent of the organisation, a template or a public agent.',
  })
  duplicateAgent(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the agent to copy.' }) id: string,
    @Arg('input', () => DuplicateAgentInput, {
      nullable: true,
      description: 'Default: the copy is named `<name> (copy)`.',
    })
    input: DuplicateAgentInput | null | undefined,
  ): Promise<Agent> {
    return context.services.agents.duplicate(context.call, id, bodyOf(context, input));
  }
}
