import type { GraphQLArgument, GraphQLField, GraphQLNamedType, GraphQLSchema } from 'graphql';
import {
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';
import { guardOf } from '../guard.js';

type Field = GraphQLField<unknown, unknown>;

/** What only owners and admins use, among people: a company's contract for its own clients leaves it out by this name. */
const isForAdmins = (field: Field): boolean => ['admin', 'owner'].includes(guardOf(field).role ?? '');

function rootFields(schema: GraphQLSchema): Field[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return roots.flatMap((type) => Object.values(type?.getFields() ?? {}));
}

const typesOf = ({ type, args }: { type: Field['type']; args: readonly GraphQLArgument[] }) => [
  getNamedType(type),
  ...args.map((argument) => getNamedType(argument.type)),
];

/** The types that a type's fields lead to at once. */
function neighbours(type: GraphQLNamedType, schema: GraphQLSchema): readonly GraphQLNamedType[] {
  if (isUnionType(type)) return type.getTypes();
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => getNamedType(field.type));
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  const implementations = isInterfaceType(type) ? schema.getPossibleTypes(type) : type.getInterfaces();
  return [...Object.values(type.getFields()).flatMap(typesOf), ...implementations];
}

/** All types that somebody who may use these root fields can meet. */
function reached(fields: readonly Field[], schema: GraphQLSchema): Set<GraphQLNamedType> {
  const found = new Set<GraphQLNamedType>();
  const open = fields.flatMap(typesOf);
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    if (found.has(type)) continue;
    found.add(type);
    open.push(...neighbours(type, schema));
  }
  return found;
}

function tag(part: { extensions: object }): void {
  Object.assign(part.extensions, { directives: { tag: { name: 'admin' } } });
}

/** Puts `@tag(name: "admin")` on the root fields that demand an owner or an admin, and on the types that nothing else leads to (beyond 14.9). */
export function tagForAdmins(schema: GraphQLSchema): void {
  const fields = rootFields(schema);
  const admins = fields.filter(isForAdmins);
  const open = reached(
    fields.filter((field) => !isForAdmins(field)),
    schema,
  );
  for (const field of admins) tag(field);
  for (const type of reached(admins, schema))
    if (!open.has(type) && !isSpecifiedScalarType(type) && !isIntrospectionType(type)) tag(type);
}
