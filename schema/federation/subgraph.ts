import { buildSubgraphSchema } from '@apollo/subgraph';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import { isInputObjectType, isObjectType, parse } from 'graphql';
import { createResolversMap } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import type { Representation } from './entities.js';
import { resolveEntities } from './entities.js';
import { NODE_SDL, serveNodes } from './node.js';

const LINK =
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key", "@shareable", "@tag"])';

/** The published SDL of the subgraph, from which a supergraph is composed. */
export function printSubgraph(schema: GraphQLSchema): string {
  return `${LINK}\n\n${printSchemaWithDirectives(schema)}\n`;
}

const texts = new WeakMap<GraphQLSchema, string>();

/** The published SDL of an executable subgraph. */
export function sdlOf(subgraph: GraphQLSchema): string {
  const text = texts.get(subgraph);
  if (text === undefined) throw new Error('the schema is no subgraph');
  return text;
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
  texts.set(subgraph, sdl);
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
