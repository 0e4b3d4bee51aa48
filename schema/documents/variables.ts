import type { DocumentNode, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql';
import {
  coerceInputValue,
  getNamedType,
  getOperationAST,
  GraphQLError,
  isInputObjectType,
  isInputType,
  isNonNullType,
  typeFromAST,
} from 'graphql';
import { firstCharacters } from '../../src/text/characters.js';
import type { DocumentRequest } from './documents.js';
import { limitError, LIMITS } from './limits.js';

const SHOWN_OF_NAME = 200;
/** The maximum of reported errors; a person does not read more at once. */
const MAX_ERRORS = 20;

/**
 * The GraphQL specification allows servers to ignore it. But it would use memory as long as its operation, without any meaning: an error of
 * its sender, or an attack.
 */
export function undeclaredVariable(
  document: DocumentNode,
  { operationName, variables }: DocumentRequest,
): GraphQLError | null {
  const operation = getOperationAST(document, operationName ?? null);
  if (!operation || variables == null) return null;
  const declared = new Set(operation.variableDefinitions?.map(({ variable }) => variable.name.value));
  for (const name in variables)
    if (!declared.has(name))
      return limitError(
        `Variable "$${firstCharacters(name, SHOWN_OF_NAME)}" is not defined by the operation.`,
      );
  return null;
}

/** More objects cannot be coerced in the time that one request may block the event loop. A file, a schema or a text is only one value. */
export function tooManyObjects(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables }: DocumentRequest,
): GraphQLError | null {
  const definitions = getOperationAST(document, operationName ?? null)?.variableDefinitions ?? [];
  let left: number = LIMITS.inputObjects;
  for (const { type, variable } of definitions) {
    const inner = typeFromAST(schema, type);
    if (isInputType(inner)) left = objectsLeft(variables?.[variable.name.value], inner, left);
    if (left < 0) return limitError(`Variables hold more than ${LIMITS.inputObjects} input objects`);
  }
  return null;
}

/** The number of objects that are still allowed after a value; below 0: too many, and the rest is not counted. */
function objectsLeft(value: unknown, type: GraphQLInputType, left: number): number {
  const named = getNamedType(type);
  if (typeof value !== 'object' || value === null || !isInputObjectType(named)) return left;
  if (Array.isArray(value)) {
    let rest = left;
    for (let at = 0; at < value.length && rest >= 0; at++) rest = objectsLeft(value[at], named, rest);
    return rest;
  }
  let rest = left - 1;
  const given = value as Record<string, unknown>;
  for (const { name, type: inner } of Object.values(named.getFields())) {
    if (rest < 0) break;
    rest = objectsLeft(given[name], inner, rest);
  }
  return rest;
}

/** Ends the coercion of one value. */
class EnoughErrors extends Error {}

/**
 * Coerces an operation's variables only to find errors. Execution would find the same errors, but puts the whole value into each message:
 * fifty unknown names in forty megabytes make two gigabytes.
 */
export function faultsOfVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables }: DocumentRequest,
): GraphQLError[] {
  const given = variables ?? {};
  const definitions = getOperationAST(document, operationName ?? null)?.variableDefinitions ?? [];
  return definitions.flatMap((definition) => {
    const type = typeFromAST(schema, definition.type);
    const name = definition.variable.name.value;
    // Validation has refused other types. A missing value is reported by execution in a short message.
    if (!isInputType(type) || !Object.hasOwn(given, name)) return [];
    const value = given[name];
    return value == null && isNonNullType(type) ? [] : faultsOfValue(value, type, definition);
  });
}

function faultsOfValue(
  value: unknown,
  type: GraphQLInputType,
  definition: VariableDefinitionNode,
): GraphQLError[] {
  const name = definition.variable.name.value;
  const errors: GraphQLError[] = [];
  try {
    coerceInputValue(value, type, (path, _value, error) => {
      const place = path.length === 0 ? '' : ` at "${name}${path.map(stepOf).join('')}"`;
      const message = `Variable "$${name}" got invalid value${place}; ${error.message}`;
      errors.push(new GraphQLError(message, { nodes: definition, originalError: error }));
      if (errors.length >= MAX_ERRORS) throw new EnoughErrors();
    });
  } catch (error) {
    if (!(error instanceof EnoughErrors)) throw error;
  }
  return errors;
}

const stepOf = (step: string | number): string => (typeof step === 'number' ? `[${step}]` : `.${step}`);
