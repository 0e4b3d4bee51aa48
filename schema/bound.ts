import type { GraphQLField } from 'graphql';
import { getNamedType, GraphQLID } from 'graphql';
import { notForTokens } from '../src/access/index.js';
import type { BoundKind } from '../src/contract/words.js';
import type { CallContext } from '../src/metering/call-context.js';

/**
 * What a client token reaches that is bound to one object (beyond 14.1). For fields that name an object: by kind of object, the argument that
 * must name it. `open`: says nothing of an organisation. `list`: its resolver shows the object alone. A field that is not here names other
 * things: with an id it answers as for an unknown id, without one it is refused.
 */
const FIELDS: Readonly<Record<string, 'open' | 'list' | Partial<Record<BoundKind, string>>>> = {
  models: 'open',
  callableModels: 'open',
  model: 'open',
  penstockVersion: 'open',
  _service: 'open',
  _entities: 'list',
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
  agentRunSteps: { run: 'runId', agent: 'agentId' },
  response: { response: 'id' },
  responses: 'list',
  responseInputItems: { response: 'id' },
  responseEvents: { response: 'id' },
  cancelResponse: { response: 'id' },
  deleteResponse: { response: 'id' },
};

/** Has the form of no object's id. */
const UNKNOWN = 'unknown';

type Arguments = Record<string, unknown>;

export interface Binding {
  /** It names no object, and is not for such tokens. */
  isClosed: boolean;
  /** The arguments as a bound token may mean them: an id of anything else becomes an unknown one. @throws ApiError forbidden */
  bind(given: Arguments, call: CallContext): Arguments;
}

/** How a root field treats client tokens that are bound to one object; once, at build time. */
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
        if (ids.some((argument) => given[argument] === id)) throw notForTokens();
        return unknown();
      }
      const argument = rule[kind];
      if (argument === undefined) return unknown();
      if (argument === '') return given;
      // An agent need not be named beside its run.
      if (kind === 'agent' && argument === 'agentId' && given[argument] == null)
        return { ...given, [argument]: id };
      return given[argument] === id ? given : unknown();
    },
  };
}

/** The one object that the caller's token is bound to, of a kind; null: it is bound to something else; undefined: it is not bound. */
export function boundTo({ principal: { token } }: CallContext, kind: BoundKind): string | null | undefined {
  if (token === undefined || token.bound === null) return undefined;
  return token.bound.kind === kind ? token.bound.id : null;
}

interface BoundPage<Node> {
  kind: BoundKind;
  after: string | null | undefined;
  /** @throws ApiError not_found where it is gone: then the list is too */
  get(id: string): Promise<Node>;
  wants(node: Node): boolean;
}

/** A list as a bound token sees it: its object, where it is of this kind and wanted. Undefined: the caller is not bound. */
export async function boundPage<Node extends { id: string }>(
  call: CallContext,
  { kind, after, get, wants }: BoundPage<Node>,
): Promise<{ nodes: Node[]; nextCursor: null } | undefined> {
  const id = boundTo(call, kind);
  if (id === undefined) return undefined;
  const found = id === null ? null : await get(id);
  // Lists begin with the newest, whose ids are the greatest.
  const isListed = found !== null && wants(found) && (after == null || found.id < after);
  return { nodes: isListed ? [found] : [], nextCursor: null };
}
