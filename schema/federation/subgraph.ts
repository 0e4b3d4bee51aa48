import { buildSubgraphSchema } from '@apollo/subgraph';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import { extendSchema, isInputObjectType, isObjectType, parse, printSchema } from 'graphql';
import { createResolversMap } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import type { Representation } from './entities.js';
import { resolveEntities } from './entities.js';
import { NODE_SDL, serveNodes } from './node.js';

const LINK =
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@shareable", "@tag"])';

/** The SDL from which a supergraph is composed. */
function printSubgraph(schema: GraphQLSchema): string {
  return `${LINK}\n\n${printSchemaWithDirectives(schema)}\n`;
}

/**
 * The SDL from which clients generate their types: with `node`, and without what only composition needs. Relay's compiler accepts no `extend schema`.
 */
function printForClients(schema: GraphQLSchema): string {
  return `${printSchema(extendSchema(schema, parse(NODE_SDL), { assumeValidSDL: true }))}\n`;
}

/** The published texts of a subgraph. */
export interface Texts {
  /** From which a supergraph is composed: `schema/schema.graphql`. */
  sdl: string;
  /** From which clients generate their types. */
  clientSdl: string;
}

const texts = new WeakMap<GraphQLSchema, Texts>();

/** The published texts of an executable subgraph. */
export function textsOf(subgraph: GraphQLSchema): Texts {
  const found = texts.get(subgraph);
  if (found === undefined) throw new Error('the schema is no subgraph');
  return found;
}

/**
 * The Federation 2 subgraph over a schema of type-graphql, with nodes. Extensions of fields (guards, JSON schema hints) are carried over. Its SDL is
 * the published SDL.
 */
export function toSubgraph(plain: GraphQLSchema): GraphQLSchema {
  const sdl = printSubgraph(plain);
  const typeDefs = parse(`${sdl}${NODE_SDL}`);
  const resolvers = createResolversMap(plain) as Record<string, Record<string, unknown>>;
  const subgraph = buildSubgraphSchema([{ typeDefs, resolvers: resolvers as never }]);
  copyExtensions(plain, subgraph);
  texts.set(subgraph, { sdl, clientSdl: printForClients(plain) });
  const service = subgraph.getQueryType()?.getFields()['_service'];
  if (!service) throw new Error('the subgraph does not tell its SDL');
  service.resolve = () => ({ sdl });
  serveNodes(subgraph);
  const entities = subgraph.getQueryType()?.getFields()['_entities'];
  if (!entities) throw new Error('the subgraph has no entities');
  entities.resolve = (_source, args: { representations: Representation[] }, context: GraphqlContext) =>
    resolveEntities(context, args.representations);
  return subgraph;
}

function copyExtensions(from: GraphQLSchema, to: GraphQLSchema): void {
  for (const source of Object.values(from.getTypeMap())) {
    const target = to.getType(source.name);
    if (!target) continue;
    Object.assign(target.extensions, source.extensions);
    const isPair =
      (isObjectType(source) && isObjectType(target)) ||
      (isInputObjectType(source) && isInputObjectType(target));
    if (!isPair) continue;
    const fields = target.getFields();
    for (const [name, field] of Object.entries(source.getFields()))
      Object.assign(fields[name]?.extensions ?? {}, field.extensions);
  }
}
