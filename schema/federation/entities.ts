import { ApiError, notFound } from '../../src/errors.js';
import type { GraphqlContext } from '../context.js';
import { requireScope } from '../guard.js';
import { showModel } from '../model/model.type.js';
import { loadOrganization } from '../organization/organization.resolver.js';

/** A reference as a router sends it. */
export interface Representation {
  __typename: string;
  id: string;
}

type Loader = (context: GraphqlContext, ids: string[]) => Promise<Map<string, object>>;

/** One look-up for all references of a type; what the caller may not see is not in the answer. */
const LOADERS: Record<string, Loader> = {
  async Organization(context, ids) {
    const own = context.call.principal.orgId;
    return new Map(ids.includes(own) ? [[own, await loadOrganization(context)]] : []);
  },
  async Model({ services }, ids) {
    const found = ids.flatMap((id) => services.models.find(id) ?? []);
    return new Map(found.map((model) => [model.id, showModel(model)]));
  },
  async Agent({ call, services }, ids) {
    requireScope(call, 'agents');
    return await each(ids, (id) => services.agents.get(call.principal, id));
  },
  async AgentRun({ call, services }, ids) {
    requireScope(call, 'agents');
    return await each(ids, (id) => services.agentRuns.get(call.principal, null, id));
  },
  async Job({ call, services }, ids) {
    requireScope(call, 'usage');
    const jobs = await services.jobs.getMany(call.principal.orgId, ids);
    return new Map(jobs.map((job) => [job.id, job]));
  },
};

/** One look-up an id, for types that are seldom referred to in numbers. */
async function each(ids: string[], get: (id: string) => Promise<object>): Promise<Map<string, object>> {
  const found = await Promise.all(
    ids.map(async (id): Promise<[string, object][]> => {
      try {
        return [[id, await get(id)]];
      } catch (error) {
        if (error instanceof ApiError && error.code === 'not_found') return [];
        throw error;
      }
    }),
  );
  return new Map(found.flat());
}

/** Types that other subgraphs may refer to by `id`. */
export const ENTITY_TYPES = Object.keys(LOADERS);

/**
 * Resolves the `_entities` of one operation: one look-up for each type, however many references there are. Unknown ids and those of other
 * organisations are null.
 * @throws ApiError not_found for a type that is not an entity
 */
export async function resolveEntities(
  context: GraphqlContext,
  representations: Representation[],
): Promise<(object | null)[]> {
  const idsByType = new Map<string, Set<string>>();
  for (const { __typename, id } of representations) {
    const ids = idsByType.get(__typename) ?? new Set();
    idsByType.set(__typename, ids.add(String(id)));
  }
  const found = new Map<string, Map<string, object>>();
  await Promise.all(
    [...idsByType].map(async ([typename, ids]) => {
      const load = Object.hasOwn(LOADERS, typename) ? LOADERS[typename] : undefined;
      if (!load) throw notFound('Unknown entity type');
      found.set(typename, await load(context, [...ids]));
    }),
  );
  return representations.map(({ __typename, id }) => {
    const entity = found.get(__typename)?.get(String(id));
    return entity ? { ...entity, __typename } : null;
  });
}
