import { z } from 'zod';
import { isDeeper } from '../../text/stored-json.js';

/** Where a schema holds another one, or several. */
const SCHEMAS = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contentSchema'],
  ...['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'],
]);
/** Where it holds schemas by name: a property may be called `pattern`. */
const NAMED_SCHEMAS = new Set(['properties', 'dependentSchemas', '$defs', 'definitions']);
/** Regular expressions, and what would refuse more where they are left out of what it negates or counts. */
const LEFT_OUT = new Set(['pattern', 'patternProperties', 'format', 'not', 'maxContains']);

/** Values in a schema whose check takes a few milliseconds to make. */
const MAX_CHECKED_NODES = 1000;
/** Values in a tool, far more than any model could read. */
const MAX_NODES = 20_000;
const MAX_LEVELS = 200;

const ANY_OBJECT = z.record(z.string(), z.unknown());

/** Whether an entry of a server's list is too large for a tool: every run would read it. */
export const isTooLarge = (entry: unknown): boolean =>
  isDeeper(entry, MAX_LEVELS) || nodesIn(entry, MAX_NODES) > MAX_NODES;

/** Values in a value, itself included; of more than `most` some number above. */
function nodesIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let nodes = 1;
  for (const item of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    nodes += nodesIn(item, most - nodes);
    if (nodes > most) break;
  }
  return nodes;
}

/**
 * Checks a tool's input by its JSON Schema; where that cannot be read, any object passes. The server checks again, so this may refuse less
 * than the schema, never more. A regular expression of a stranger's, on text that a model chose, could keep the whole process busy for
 * hours: none is compiled here.
 */
export function inputCheckOf(schema: object): z.ZodType {
  if (nodesIn(schema, MAX_CHECKED_NODES) > MAX_CHECKED_NODES) return ANY_OBJECT;
  try {
    return z.fromJSONSchema(withoutExpressions(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return ANY_OBJECT;
  }
}

function withoutExpressions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutExpressions(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (LEFT_OUT.has(keyword)) return [];
    // Which other properties there are is not known without the patterns of their names.
    if (keyword === 'additionalProperties' && 'patternProperties' in schema) return [];
    if (SCHEMAS.has(keyword)) return [[keyword, withoutExpressions(value)]];
    return [[keyword, NAMED_SCHEMAS.has(keyword) ? eachWithoutExpressions(value) : value]];
  });
  return anyForOne(Object.fromEntries(entries));
}

function eachWithoutExpressions(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas;
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutExpressions(schema)]),
  );
}

/** Without their patterns, alternatives may both match, and `oneOf` would refuse valid input. */
function anyForOne({ oneOf, ...schema }: Record<string, unknown>): Record<string, unknown> {
  if (oneOf === undefined) return schema;
  const { allOf } = schema;
  return { ...schema, allOf: [...(Array.isArray(allOf) ? (allOf as unknown[]) : []), { anyOf: oneOf }] };
}
