import type { GraphQLField } from 'graphql';
import { getNamedType, GraphQLID } from 'graphql';
import { forbiddenForTokens } from '../src/access/index.js';
import type { BoundKind } from '../src/contract/words.js';
import type { CallContext } from '../src/metering/call-context.js';

/**
 * The root fields that a client token bound to one object can use (beyond 14.1). For fields that name an object: by kind of object, the
 * argument that must name it. `open`: the field has no data of an organisation. `list`: its resolver shows only the object. All other fields
 * name other objects: with an id they answer like for an unknown id, without one they are refused.
 */
const FIELDS: Readonly<Record<string, 'open' | 'list' | Partial<Record<BoundKind, string>>>> = {
  models: 'open',
  callableModels: 'open',
  model: 'open',
  penstockVersion: 'open',
  _service: 'open',
  _entities: 'list',
  node: 'list',
  job: { job: 'id' },
  jobs: 'list',
  cancelJob: { job: 'id' },
  jobProgress: { job: 'id' },
  jobUpdates: 'list',
  agent: { agent: 'id' },
  agents: 'list',
  runAgent: { agent: 'id' },
  agentRun: { run: 'id', agent: 'agentId' },
  agentRuns: { run: '', agent: 'agentId' },
  cancelAgentRun: { run: 'id', agent: 'agentId' },
  agentRunUpdates: 'list',
  agentRunSteps: { run: 'runId', agent: 'agentId' },
  response: { response: 'id' },
  responses: 'list',
  responseInputItems: { response: 'id' },
  responseEvents: { response: 'id' },
  cancelResponse: { response: 'id' },
  deleteResponse: { response: 'id' },
};

/** An id that no object can have. */
const UNKNOWN = 'unknown';

type Arguments = Record<string, unknown>;

export interface Binding {
  /** The field names no object and is closed to such tokens. */
  isClosed: boolean;
  /** The arguments for a bound token: the id of any other object is replaced by an unknown id. @throws ApiError forbidden */
  bind(given: Arguments, call: CallContext): Arguments;
}

/** Makes a root field check client tokens that are bound to one object; once, at build time. */
export function bindingOf({ name, args }: Pick<GraphQLField<unknown, unknown>, 'name' | 'args'>): Binding {
  const rule = FIELDS[name];
  const ids = args.filter(({ type }) => getNamedType(type) === GraphQLID).map((argument) => argument.name);
  if (rule === 'open' || rule === 'list') return { isClosed: false, bind: (given) => given };
  if (rule === undefined && ids.length === 0) return { isClosed: true, bind: (given) => given };
  return {
    isClosed: false,
    bind(given, { principal: { token } }) {
      if (token === undefined || token.bound === null) return given;
      const { kind, id } = token.bound;
      const unknown = () => ({ ...given, ...Object.fromEntries(ids.map((argument) => [argument, UNKNOWN])) });
      if (rule === undefined) {
        if (ids.some((argument) => given[argument] === id)) throw forbiddenForTokens();
        return unknown();
      }
      const argument = rule[kind];
      if (argument === undefined) return unknown();
      if (argument === '') return given;
      // A run's agent is optional.
      if (kind === 'agent' && argument === 'agentId' && given[argument] == null)
        return { ...given, [argument]: id };
      return given[argument] === id ? given : unknown();
    },
  };
}

/** The id of the object of a kind to which the caller's token is bound; null: it is bound to another kind; undefined: it is not bound. */
export function boundTo({ principal: { token } }: CallContext, kind: BoundKind): string | null | undefined {
  if (token === undefined || token.bound === null) return undefined;
  return token.bound.kind === kind ? token.bound.id : null;
}

interface BoundPage<Node> {
  kind: BoundKind;
  after: string | null | undefined;
  /** @throws ApiError not_found if the object no longer exists */
  get(id: string): Promise<Node>;
  wants(node: Node): boolean;
}

/** A list for a bound token: only its object, if it has this kind and matches the conditions. Undefined: the caller is not bound. */
export async function boundPage<Node extends { id: string }>(
  call: CallContext,
  { kind, after, get, wants }: BoundPage<Node>,
): Promise<{ nodes: Node[]; nextCursor: null } | undefined> {
  const id = boundTo(call, kind);
  if (id === undefined) return undefined;
  const found = id === null ? null : await get(id);
  // Lists begin with the newest object, which has the greatest id.
  const isListed = found !== null && wants(found) && (after == null || found.id < after);
  return { nodes: isListed ? [found] : [], nextCursor: null };
}
