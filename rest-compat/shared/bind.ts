import type { GraphQLInputType } from 'graphql';
import { isEnumType, isListType, isNonNullType, isScalarType } from 'graphql';
import { invalid } from '../../src/contract/errors.js';
import { checkText } from '../../src/http/index.js';
import type { Variable } from './compile.js';
import type { ParameterHint } from './route.types.js';

/** Turns a parameter's text into its value. @throws ApiError invalid_request with `param` */
export type ReadText = (text: string) => unknown;

/** The maximum of values of one parameter, more than the lists of all filters together allow. */
const MAX_LISTED = 1_000;

/** A parameter of an endpoint: a variable of its document with the checks of its type and of the table. */
export interface BoundParameter {
  name: string;
  required: boolean;
  defaultValue: unknown;
  /** It may be repeated; `read` reads one of its values. */
  isList: boolean;
  /** Each of its values may be a list with commas. */
  commas: boolean;
  read: ReadText;
}

export function bindParameter(variable: Variable, hint: ParameterHint | undefined): BoundParameter {
  const required = isNonNullType(variable.type) && variable.defaultValue === undefined;
  const type = nullableOf(variable.type);
  return {
    name: variable.name,
    required,
    defaultValue: variable.defaultValue,
    isList: isListType(type),
    commas: hint?.commas ?? true,
    read: reader(variable.name, isListType(type) ? nullableOf(type.ofType) : type, hint),
  };
}

const nullableOf = (type: GraphQLInputType): GraphQLInputType => (isNonNullType(type) ? type.ofType : type);

function reader(name: string, type: GraphQLInputType, hint: ParameterHint = { description: '' }): ReadText {
  if (isEnumType(type))
    return oneOf(
      name,
      type.getValues().map((value) => value.name),
    );
  // The service checks these values.
  const isWord = isScalarType(type) && type.extensions['values'] !== undefined;
  switch (isWord ? 'String' : String(type)) {
    case 'Int':
      return integer(name, hint);
    case 'Boolean':
      return (text) => {
        if (text !== 'true' && text !== 'false') throw invalid(`${name} must be true or false`, name);
        return text === 'true';
      };
    case 'String':
    case 'ID':
      return (text) => {
        checkText(text, name);
        return text;
      };
    case 'DateTime':
      return (text) => {
        try {
          return isScalarType(type) ? type.parseValue(text) : text;
        } catch {
          throw invalid(`${name} must be a time such as 2026-11-01T00:00:00Z`, name);
        }
      };
    default:
      throw new Error(`no way to read ${String(type)} from a path or query`);
  }
}

function oneOf(name: string, words: string[]): ReadText {
  // Names of several words have another spelling in REST.
  const known = new Map(words.map((word) => [snake(word), word]));
  return (text) => {
    const word = known.get(text);
    if (word === undefined) throw invalid(`${name} must be one of ${[...known.keys()].join(', ')}`, name);
    return word;
  };
}

function integer(name: string, { minimum = -(2 ** 31), maximum = 2 ** 31 - 1 }: ParameterHint): ReadText {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d{1,10}$/.test(text)) throw invalid(`${name} must be an integer`, name);
    if (value < minimum || value > maximum)
      throw invalid(`${name} must be between ${minimum} and ${maximum}`, name);
    return value;
  };
}

/** Converts camelCase to the contract's spelling. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The parts of a request that contain an endpoint's parameters. */
export interface Sources {
  /** Decoded path segments (or the row's own values from them). */
  path: Record<string, unknown>;
  /** The query string without `?`. */
  query: string;
  lastEventId: string | undefined;
}

const NO_QUERY = new URLSearchParams();

/**
 * The values of a document's variables. Unknown parameters are ignored.
 * @throws ApiError invalid_request with the contract's messages
 */
export function bind(
  parameters: readonly BoundParameter[],
  { path, query, lastEventId }: Sources,
): Record<string, unknown> {
  const given = query === '' ? NO_QUERY : new URLSearchParams(query);
  const values: Record<string, unknown> = {};
  for (const parameter of parameters) {
    const { name, required, defaultValue, read } = parameter;
    const inPath = path[name];
    if (inPath !== undefined) {
      values[name] = read(String(inPath));
      continue;
    }
    if (parameter.isList && given.has(name)) {
      values[name] = listed(parameter, given.getAll(name));
      continue;
    }
    const text = given.get(name) ?? (name === 'after' ? lastEventId : undefined) ?? undefined;
    if (text !== undefined) values[name] = read(text);
    else if (required) throw invalid(`${name} is required`, name);
    else if (defaultValue !== undefined) values[name] = defaultValue;
  }
  return values;
}

function listed({ name, commas, read }: BoundParameter, texts: string[]): unknown[] {
  const items = commas ? texts.flatMap((text) => text.split(',')) : texts;
  if (items.length > MAX_LISTED) throw invalid(`${name} names too many`, name);
  return items.map((item) => read(item));
}
