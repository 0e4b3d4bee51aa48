import { Ctx, FieldResolver, ID, Resolver, Root } from 'type-graphql';
import type { Agent, AgentRun, KnowledgeFile, Memory } from '../../src/agents/agents.types.js';
import { loadOne } from '../batch.js';
import { boundTo } from '../bound.js';
import type { GraphqlContext } from '../context.js';
import { AgentMemoryType, KnowledgeFileType } from '../knowledge/knowledge.type.js';
import { ModelObject, modelOf } from '../model/model.type.js';
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
    description: 'Its chat model; null if it is no longer in the catalogue.',
  })
  model(@Root() { model }: Agent, @Ctx() { services }: GraphqlContext): ModelObject | null {
    return modelOf(services.models, model);
  }
}

/** The agents of runs; one statement for a page of any length. */
@Resolver(() => AgentRunType)
export class AgentRunEdges {
  @FieldResolver(() => AgentType, {
    nullable: true,
    description: 'The agent that runs; null if it was deleted, or is no longer public.',
  })
  agent(@Root() { agentId }: AgentRun, @Ctx() context: GraphqlContext): Promise<Agent | null> {
    return agentOf(context, agentId);
  }
}

/** Whose knowledge it is. */
@Resolver(() => KnowledgeFileType)
export class KnowledgeFileEdges {
  @FieldResolver(() => AgentType, { nullable: true, description: 'The agent; null if it was deleted.' })
  agent(@Root() { agentId }: KnowledgeFile, @Ctx() context: GraphqlContext): Promise<Agent | null> {
    return agentOf(context, agentId);
  }
}

/** Whose memory it is. */
@Resolver(() => AgentMemoryType)
export class AgentMemoryEdges {
  @FieldResolver(() => AgentType, {
    nullable: true,
    description: 'The agent; null if it was deleted, or is no longer public.',
  })
  agent(@Root() { agentId }: Memory, @Ctx() context: GraphqlContext): Promise<Agent | null> {
    return agentOf(context, agentId);
  }
}

async function agentOf({ call, services }: GraphqlContext, agentId: string): Promise<Agent | null> {
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
