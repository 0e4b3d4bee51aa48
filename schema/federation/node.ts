import type { GraphQLSchema } from 'graphql';
import { isInterfaceType } from 'graphql';
import { ApiError } from '../../src/contract/errors.js';
import type { GraphqlContext } from '../context.js';
import { requireScope } from '../guard.js';
import { parseResponse } from '../response/response.shape.js';
import { userOf } from '../member/member-id.js';
import { showRecord } from '../usage/usage-record.type.js';
import { showWebhook } from '../webhook/webhook.resolver.js';
import { ENTITY_TYPES, isBound, reachableIds, resolveEntities } from './entities.js';

type Find = (context: GraphqlContext, id: string) => Promise<object | null | undefined>;

/** Types that other subgraphs do not refer to, by the prefix of their ids. */
const OTHERS: Record<string, { type: string; find: Find }> = {
  resp: {
    type: 'ModelResponse',
    async find({ call, services }, id) {
      requireScope(call, 'chat');
      const texts = await services.responses.texts(
        call.principal.orgId,
        reachableIds(call, 'response', [id]),
      );
      const text = texts.get(id);
      return text === undefined ? null : parseResponse(text);
    },
  },
  op: {
    type: 'UsageRecord',
    async find({ call, services }, id) {
      requireScope(call, 'usage');
      if (isBound(call)) return null;
      const [record] = await services.usage.recordsById(call.principal.orgId, [id]);
      return record && showRecord(record);
    },
  },
  bud: {
    type: 'Budget',
    async find({ call, services }, id) {
      requireScope(call, 'usage');
      if (isBound(call)) return null;
      return services.budgets.get(call.principal.orgId, id);
    },
  },
  whk: {
    type: 'Webhook',
    async find(context, id) {
      requireScope(context.call, 'webhooks');
      if (isBound(context.call)) return null;
      return showWebhook(context, await context.services.webhooks.get(context.call.principal, id));
    },
  },
  dlv: {
    type: 'WebhookDelivery',
    async find({ call, services }, id) {
      requireScope(call, 'webhooks');
      if (isBound(call)) return null;
      return (await services.webhooks.deliveriesById(call.principal, [id]))[0];
    },
  },
  kf: {
    type: 'KnowledgeFile',
    async find({ call, services }, id) {
      requireScope(call, 'agents');
      if (isBound(call)) return null;
      return (await services.knowledge.getMany(call.principal, [id]))[0];
    },
  },
  mem: {
    type: 'AgentMemory',
    async find({ call, services }, id) {
      requireScope(call, 'agents');
      if (isBound(call)) return null;
      return (await services.memories.getMany(call.principal, [id]))[0];
    },
  },
  key: {
    type: 'ApiKey',
    async find({ call, services }, id) {
      requireScope(call, 'people:admin');
      return (await services.keys.getMany(call.principal.orgId, [id]))[0];
    },
  },
  aud: {
    type: 'AuditEntry',
    async find({ call, services }, id) {
      requireScope(call, 'people:admin');
      return (await services.audit.getMany(call.principal.orgId, [id]))[0];
    },
  },
  mbr: {
    type: 'PenstockMember',
    async find({ call, services }, id) {
      requireScope(call, 'people:viewer');
      const { orgId } = call.principal;
      const userId = userOf(orgId, id);
      return userId === null ? null : services.team.get(orgId, userId);
    },
  },
};

/** By the prefix of their ids; an id with a slash belongs to a model. */
const ENTITIES: Record<string, string> = {
  job: 'Job',
  agt: 'Agent',
  run: 'AgentRun',
  org: 'PenstockOrganization',
};

const NODE_TYPES = [...ENTITY_TYPES, ...Object.values(OTHERS).map(({ type }) => type)];

/** The part of the served schema that is not published. Every graph has such a field, so a supergraph could not be composed with it (beyond 14.9). */
export const NODE_SDL = `
"""An object with an id that is unique among all of them."""
interface Node {
  """Its id."""
  id: ID!
}
extend type Query {
  """
  Any object by its id. Null for an id that is unknown, or belongs to another organisation. Each type needs the scope that its own query needs.
  """
  node(
    """Its id."""
    id: ID!
  ): Node
}
${NODE_TYPES.map((type) => `extend type ${type} implements Node`).join('\n')}
`;

/** @throws ApiError forbidden for a type whose scope the caller does not have, plan_required */
async function findNode(context: GraphqlContext, id: string): Promise<object | null> {
  const [prefix = ''] = id.split('_', 1);
  const entity = id.includes('/') ? 'Model' : Object.hasOwn(ENTITIES, prefix) ? ENTITIES[prefix] : undefined;
  if (entity !== undefined) {
    const [found] = await resolveEntities(context, [{ __typename: entity, id }]);
    return found ?? null;
  }
  const other = Object.hasOwn(OTHERS, prefix) ? OTHERS[prefix] : undefined;
  if (other === undefined) return null;
  try {
    const found = await other.find(context, id);
    return found == null ? null : { ...found, __typename: other.type };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return null;
    throw error;
  }
}

/** Adds the resolver of the field `node`. */
export function serveNodes(served: GraphQLSchema): void {
  const node = served.getQueryType()?.getFields()['node'];
  const type = served.getType('Node');
  if (!node || !isInterfaceType(type)) throw new Error('the served schema has no nodes');
  node.resolve = (_source, { id }: { id: string }, context: GraphqlContext) => findNode(context, id);
  type.resolveType = (value: { __typename: string }) => value.__typename;
}
