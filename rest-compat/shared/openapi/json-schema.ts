import type { GraphQLInputType, GraphQLOutputType, SelectionSetNode } from 'graphql';
import {
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  Kind,
} from 'graphql';
import type { GraphQLInputObjectType, GraphQLObjectType } from 'graphql';
import { snake } from '../bind.js';
import type { JsonSchema } from '../route.types.js';

const SCALARS: Record<string, JsonSchema> = {
  String: { type: 'string' },
  ID: { type: 'string' },
  Int: { type: 'integer' },
  SafeInt: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  BudgetAmount: { type: ['string', 'number'] },
  Decimal: { type: 'string' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
};

function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: words } = schema;
  if (typeof type !== 'string') return schema;
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(words) ? { enum: [...(words as unknown[]), null] } : {}),
  };
}

/** The same without null. */
export function notNull(schema: JsonSchema): JsonSchema {
  const { type, enum: words, anyOf } = schema;
  const forms = (Array.isArray(anyOf) ? (anyOf as JsonSchema[]) : []).filter(
    (form) => form['type'] !== 'null',
  );
  return {
    ...schema,
    ...(Array.isArray(type) ? { type: type[0] as string } : {}),
    ...(Array.isArray(words) ? { enum: words.filter((word) => word !== null) as unknown[] } : {}),
    ...(forms.length > 0 ? { anyOf: forms.map(notNull) } : {}),
  };
}

function leaf(type: unknown): JsonSchema {
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  if (!isScalarType(type)) throw new Error(`no JSON schema for ${String(type)}`);
  const values = type.extensions['values'];
  if (Array.isArray(values)) return { type: 'string', enum: [...(values as string[])] };
  const schema = SCALARS[type.name];
  if (!schema) throw new Error(`no JSON schema for the scalar ${type.name}`);
  return { ...schema };
}

/**
 * The schema of a stored document's answer, with its aliases as property names. Without a selection: the schema of the whole type, in the
 * contract's spelling.
 */
export function outputSchema(type: GraphQLOutputType, set: SelectionSetNode | undefined): JsonSchema {
  if (isNonNullType(type)) return strict(type.ofType, set);
  return nullable(strict(type, set));
}

function strict(type: GraphQLOutputType, set: SelectionSetNode | undefined): JsonSchema {
  if (isListType(type)) return { type: 'array', items: outputSchema(type.ofType, set) };
  if (!isObjectType(type)) return leaf(type);
  const properties: Record<string, JsonSchema> = {};
  for (const node of set?.selections ?? []) {
    if (node.kind !== Kind.FIELD) continue;
    properties[node.alias?.value ?? node.name.value] = fieldSchema(type, node.name.value, node.selectionSet);
  }
  if (!set)
    for (const name of Object.keys(type.getFields()))
      properties[snake(name)] = fieldSchema(type, name, undefined);
  return { type: 'object', properties, required: Object.keys(properties) };
}

function fieldSchema(type: GraphQLObjectType, name: string, set: SelectionSetNode | undefined): JsonSchema {
  const field = type.getFields()[name];
  if (!field) throw new Error(`unknown field ${type.name}.${name}`);
  const schema = outputSchema(field.type, set);
  return field.description ? { ...schema, description: restWords(field.description) } : schema;
}

/** The schema of a request body: an input type in the contract's spelling. Null means absent, except in `notNull` fields. An `unchecked` field may have any value. A `closed` inner object has no other fields. */
export function inputSchema(type: GraphQLInputType): JsonSchema {
  if (isNonNullType(type)) return inputSchema(type.ofType);
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType) };
  return isInputObjectType(type) ? objectSchema(type) : leaf(type);
}

function objectSchema(type: GraphQLInputObjectType): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of Object.values(type.getFields())) {
    const name = snake(field.name);
    const description = field.description ? { description: restWords(field.description) } : {};
    const schema = {
      ...(field.extensions['unchecked'] === true ? {} : inputSchema(field.type)),
      ...description,
      ...(field.extensions['jsonSchema'] as JsonSchema),
    };
    const isRequired = isNonNullType(field.type);
    properties[name] = isRequired || field.extensions['notNull'] === true ? schema : nullable(schema);
    if (isRequired) required.push(name);
  }
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(type.extensions['closed'] === true ? { additionalProperties: false } : {}),
  };
}

/** The same schema with fields of these names optional, at any depth, because an answer omits them if they do not apply. */
export function withOptional<Value>(schema: Value, names: readonly string[]): Value {
  if (Array.isArray(schema)) return schema.map((item) => withOptional(item, names) as unknown) as Value;
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'required' && Array.isArray(value)
      ? value.filter((name) => !names.includes(name as string))
      : withOptional(value as unknown, names),
  ]);
  return Object.fromEntries(entries) as Value;
}

/** Names of several words are converted to REST's spelling. */
function parameterLeaf(type: GraphQLInputType): JsonSchema {
  const schema = leaf(type);
  return Array.isArray(schema['enum'])
    ? { ...schema, enum: (schema['enum'] as string[]).map(snake) }
    : schema;
}

/** The schema of a path or query parameter. */
export function parameterSchema(type: GraphQLInputType, defaultValue: unknown): JsonSchema {
  const inner = isNonNullType(type) ? type.ofType : type;
  const schema = isListType(inner)
    ? { type: 'array', items: parameterSchema(inner.ofType, undefined) }
    : parameterLeaf(inner);
  return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
}

/** Converts the names of fields and of the list of models in descriptions from GraphQL's spelling. */
function restWords(description: string): string {
  return description
    .replace(/`[a-z]+[A-Z][A-Za-z]*`/g, snake)
    .replace(/`models\(type: (\w+)\)`/g, '`GET /models?type=$1`');
}
