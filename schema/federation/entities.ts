import { invalid } from '../../src/contract/errors.js';
import { boundTo } from '../bound.js';
import type { BoundKind } from '../../src/contract/words.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { GraphqlContext } from '../context.js';
import { requireScope } from '../guard.js';
import { MAX_ID_LENGTH } from '../ids.js';
import { showModel } from '../model/model.type.js';
import { loadOrganization } from '../organization/organization.resolver.js';

/** A reference from a router; its fields are not checked yet, because `_Any` allows anything. */
export interface Representation {
  __typename: string;
  id: unknown;
}

type Loader = (context: GraphqlContext, ids: string[]) => Promise<Map<string, object>>;

/** One look-up for all references of a type; objects that the caller may not see are absent. */
const LOADERS: Record<string, Loader> = {
  async PenstockOrganization(context, ids) {
    const own = context.call.principal.orgId;
    if (isBound(context.call)) return new Map();
    return new Map(ids.includes(own) ? [[own, await loadOrganization(context)]] : []);
  },
  async Model({ services }, ids) {
    const found = ids.flatMap((id) => services.models.find(id) ?? []);
    return new Map(found.map((model) => [model.id, showModel(model)]));
  },
  async Agent({ call, services }, ids) {
    requireScope(call, 'agents');
    return byId(await services.agents.getMany(call.principal, reachableIds(call, 'agent', ids)));
  },
  async AgentRun({ call, services }, ids) {
    requireScope(call, 'agents');
    const agent = boundTo(call, 'agent');
    const runs = await services.agentRuns.getMany(
      call.principal,
      agent == null ? reachableIds(call, 'run', ids) : ids,
    );
    return byId(runs.filter(({ agentId }) => agent == null || agentId === agent));
  },
  async Job({ call, services }, ids) {
    requireScope(call, 'usage');
    return byId(await services.jobs.getMany(call.principal.orgId, reachableIds(call, 'job', ids)));
  },
};

/** A token that can use only one object. */
export const isBound = ({ principal: { token } }: CallContext): boolean =>
  token !== undefined && token.bound !== null;

/** For a client token that is bound to one object, all other ids are unknown. */
export function reachableIds(call: CallContext, kind: BoundKind, ids: string[]): string[] {
  const own = boundTo(call, kind);
  return own === undefined ? ids : ids.filter((id) => id === own);
}

function byId(found: readonly { id: string }[]): Map<string, object> {
  return new Map(found.map((entity) => [entity.id, entity]));
}

/** Types that other subgraphs may refer to by `id`. */
export const ENTITY_TYPES = Object.keys(LOADERS);

/**
 * Resolves the `_entities` of one operation: one look-up for each type, for any number of references. Unknown ids and ids of other
 * organisations are null.
 * @throws ApiError invalid_request for a type that is not an entity
 */
export async function resolveEntities(
  context: GraphqlContext,
  representations: Representation[],
): Promise<(object | null)[]> {
  const idsByType = new Map<string, Set<string>>();
  for (const { __typename, id } of representations) {
    if (typeof __typename !== 'string' || !Object.hasOwn(LOADERS, __typename))
      throw invalid('representations must name entity types', 'representations');
    const ids = idsByType.get(__typename) ?? new Set();
    idsByType.set(__typename, typeof id === 'string' && id.length <= MAX_ID_LENGTH ? ids.add(id) : ids);
  }
  const found = new Map<string, Map<string, object>>();
  await Promise.all(
    [...idsByType].map(async ([typename, ids]) => {
      found.set(typename, await LOADERS[typename]!(context, [...ids]));
    }),
  );
  return representations.map(({ __typename, id }) => {
    const entity = typeof id === 'string' ? found.get(__typename)?.get(id) : undefined;
    return entity ? { ...entity, __typename } : null;
  });
}
