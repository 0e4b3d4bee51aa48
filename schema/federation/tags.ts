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

/** Whether, among people, only owners, admins and operators use a field. A company can exclude such fields from the contract for its own clients by their tag. */
function isForAdmins(field: Field): boolean {
  const { role, operator } = guardOf(field);
  return operator === true || ['admin', 'owner'].includes(role ?? '');
}

function rootFields(schema: GraphQLSchema): Field[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return roots.flatMap((type) => Object.values(type?.getFields() ?? {}));
}

const typesOf = ({ type, args }: { type: Field['type']; args: readonly GraphQLArgument[] }) => [
  getNamedType(type),
  ...args.map((argument) => getNamedType(argument.type)),
];

/** The types to which a type refers directly. */
function neighbours(type: GraphQLNamedType, schema: GraphQLSchema): readonly GraphQLNamedType[] {
  if (isUnionType(type)) return type.getTypes();
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => getNamedType(field.type));
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  const implementations = isInterfaceType(type) ? schema.getPossibleTypes(type) : type.getInterfaces();
  return [...Object.values(type.getFields()).flatMap(typesOf), ...implementations];
}

/** All types that can be reached from these root fields. */
function reachableTypes(fields: readonly Field[], schema: GraphQLSchema): Set<GraphQLNamedType> {
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

/** Adds `@tag(name: "admin")` to the root fields that require an owner or an admin, and to the types that only these fields reach (beyond 14.9). */
export function tagForAdmins(schema: GraphQLSchema): void {
  const fields = rootFields(schema);
  const admins = fields.filter(isForAdmins);
  const open = reachableTypes(
    fields.filter((field) => !isForAdmins(field)),
    schema,
  );
  for (const field of admins) tag(field);
  for (const type of reachableTypes(admins, schema))
    if (!open.has(type) && !isSpecifiedScalarType(type) && !isIntrospectionType(type)) tag(type);
}
