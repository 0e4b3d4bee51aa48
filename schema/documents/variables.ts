import type { DocumentNode, GraphQLInputType, GraphQLSchema, VariableDefinitionNode } from 'graphql';
import {
  coerceInputValue,
  getOperationAST,
  GraphQLError,
  isInputType,
  isNonNullType,
  typeFromAST,
} from 'graphql';
import { firstCharacters } from '../../src/text/characters.js';
import type { DocumentRequest } from './documents.js';
import { limitError } from './limits.js';

const SHOWN_OF_NAME = 200;
/** More faults than a person reads at once are not looked for. */
const MAX_ERRORS = 20;

/**
 * The specification of GraphQL lets it be ignored. It would be read, held as long as its operation, and mean nothing: a mistake of its sender
 * or worse.
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

/** Ends the coercion of one value. */
class EnoughErrors extends Error {}

/**
 * Coerces an operation's variables, for their faults alone. Execution would find the same faults, but puts the whole value into the message
 * of each: fifty unknown names beside forty megabytes are two gigabytes there.
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
    // Validation has refused other types; where nothing is given, execution says so in a few words.
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
