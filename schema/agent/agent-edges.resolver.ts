import { Ctx, FieldResolver, ID, Resolver, Root } from 'type-graphql';
import type { Agent, AgentRun } from '../../src/agents/agents.types.js';
import { loadOne } from '../batch.js';
import { boundTo } from '../bound.js';
import type { GraphqlContext } from '../context.js';
import { ModelObject, showModel } from '../model/model.type.js';
import { AgentType } from './agent.type.js';
import { AgentRunType } from './run.type.js';

@Resolver(() => AgentType)
export class AgentEdges {
  @FieldResolver(() => ID, { description: 'Id of its chat model.' })
  modelId(@Root() { model }: Agent): string {
    return model;
  }

  @FieldResolver(() => ModelObject, {
    nullable: true,
    description: 'Its chat model; null if the catalogue has it no longer.',
  })
  model(@Root() { model }: Agent, @Ctx() { services }: GraphqlContext): ModelObject | null {
    const found = services.models.find(model);
    return found && showModel(found);
  }
}

/** What runs refer to: one statement for a page, however long it is. */
@Resolver(() => AgentRunType)
export class AgentRunEdges {
  @FieldResolver(() => AgentType, {
    nullable: true,
    description: 'The agent that runs; null if it was deleted, or is no longer public.',
  })
  async agent(
    @Root() { agentId }: AgentRun,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<Agent | null> {
    const own = boundTo(call, 'agent');
    if (own !== undefined && own !== agentId) return null;
    return loadOne(call, agentId, {
      key: services.agents,
      read: async ({ principal }, ids) => {
        const agents = await services.agents.getMany(principal, ids);
        return new Map(agents.map((agent) => [agent.id, agent]));
      },
    });
  }
}
