/**
 * What `@penstock/client` knows of the schema: the types of its inputs and answers, and one document for each field of Query, Mutation and
 * Subscription, which selects all that the field answers without arguments of its own, other pages aside.
 */
import {
  buildASTSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isUnionType,
  parse,
} from 'graphql';

export const CLIENT_OPERATIONS = 'client/src/operations.generated.ts';

const SCALARS = {
  ID: 'string',
  String: 'string',
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  SafeInt: 'number',
  JSON: 'unknown',
  JSONObject: 'unknown',
};
/** Objects in objects in objects: deeper ones are asked for by a document of the caller's own. */
const MAX_DEPTH = 5;
const INDENT = '  ';

const isPage = (type) => getNamedType(type).name.endsWith('Connection');

/** A type as TypeScript has it; `named` writes the innermost. */
function typeText(type, named, isInput) {
  if (isNonNullType(type)) return bare(type.ofType, named, isInput);
  return `${bare(type, named, isInput)} | null`;
}
function bare(type, named, isInput) {
  if (isNonNullType(type)) return bare(type.ofType, named, isInput);
  if (isListType(type)) return `${isInput ? 'readonly ' : ''}(${typeText(type.ofType, named, isInput)})[]`;
  return named(type);
}

function leafText(type) {
  return isEnumType(type) ? type.name : (SCALARS[type.name] ?? 'string');
}

const inputNamed = (type) => (isInputObjectType(type) ? type.name : leafText(type));

/** A description on the line of what it describes: the file stays short enough for the rule that holds all files. */
const docOf = ({ description }) =>
  description ? `/** ${description.replace(/\s+/g, ' ').replaceAll('*/', '* /')} */ ` : '';

function membersOf(fields) {
  return fields
    .map((field) => {
      const isOptional = !isNonNullType(field.type) || field.defaultValue !== undefined;
      const type = typeText(field.type, inputNamed, true);
      return `${docOf(field)}${field.name}${isOptional ? '?' : ''}: ${type}${isOptional ? ' | undefined' : ''};`;
    })
    .join(' ');
}

const isEntity = (type) => isObjectType(type) && 'id' in type.getFields();

/** The fields of an object that a document may select without asking anything. What an entity refers to is asked for by documents that want it. */
function selectable(type, path) {
  return Object.values(type.getFields()).filter((field) => {
    if (field.name.startsWith('_') || field.deprecationReason != null) return false;
    if (field.args.some((arg) => isNonNullType(arg.type) && arg.defaultValue === undefined)) return false;
    const named = getNamedType(field.type);
    if (isScalarType(named) || isEnumType(named)) return true;
    if (isEntity(type) && (isEntity(named) || isInterfaceType(named))) return false;
    return path.length < MAX_DEPTH && !path.includes(named.name) && !(path.length > 0 && isPage(field.type));
  });
}

/** The selection of a type and the type of what it answers. */
function selection(type, path) {
  const named = getNamedType(type);
  if (isScalarType(named) || isEnumType(named)) return { text: '', made: leafText(named) };
  if (isUnionType(named)) {
    const members = named.getTypes().map((member) => ({ member, ...object(member, [...path, named.name]) }));
    return {
      text: ` { __typename ${members.map(({ member, text }) => `... on ${member.name}${text}`).join(' ')} }`,
      made: members
        .map(({ member, made }) => `(${made.replace('{', `{ __typename: '${member.name}';`)})`)
        .join(' | '),
    };
  }
  return object(named, path);
}

function object(type, path) {
  const parts = selectable(type, path).map((field) => {
    const { text, made } = selection(field.type, [...path, type.name]);
    return {
      text: `${field.name}${text}`,
      made: `${field.name}: ${typeText(field.type, () => made, false)};`,
    };
  });
  return {
    text: ` { ${parts.map(({ text }) => text).join(' ')} }`,
    made: `{ ${parts.map(({ made }) => made).join(' ')} }`,
  };
}

function operation(kind, field) {
  const { text, made } = selection(field.type, []);
  // A variable may be left out where its argument has a default.
  const typeOf = ({ type, defaultValue }) =>
    defaultValue === undefined ? `${type}` : `${type}`.replace(/!$/, '');
  const variables = field.args.map((arg) => `$${arg.name}: ${typeOf(arg)}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const document = `${kind}${variables && ` (${variables})`} { ${field.name}${passed && `(${passed})`}${text} }`;
  const members = membersOf(field.args);
  const answer = typeText(field.type, () => made, false);
  const types = `{ ${members} }, { ${field.name}: ${answer} }`.replace('{  }', '{}');
  return `${INDENT}${docOf(field)}${field.name}: operation<${types}>('${field.name}', ${JSON.stringify(document)}),`;
}

/** Types without an id of their own: caches keep them inside what holds them. */
function valueTypes(types) {
  return types.filter((type) => isObjectType(type) && !('id' in type.getFields())).map(({ name }) => name);
}

/** Root fields that answer in pages, with the arguments that tell one list from another. */
function pagedFields(schema) {
  const fields = Object.values(schema.getQueryType().getFields()).filter(({ type }) => isPage(type));
  const ofPage = new Set(['first', 'after', 'last', 'before']);
  return Object.fromEntries(
    fields.map(({ name, args }) => [name, args.map((arg) => arg.name).filter((arg) => !ofPage.has(arg))]),
  );
}

/** @param sdl the published schema */
export function clientOperations(sdl) {
  const schema = buildASTSchema(parse(sdl), { assumeValid: true, assumeValidSDL: true });
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('_'));
  const enums = types.filter(isEnumType).map(
    (type) =>
      `${docOf(type)}export type ${type.name} = ${type
        .getValues()
        .map(({ name }) => `'${name}'`)
        .join(' | ')};`,
  );
  const inputs = types
    .filter(isInputObjectType)
    .map(
      (type) =>
        `${docOf(type)}export interface ${type.name} { ${membersOf(Object.values(type.getFields()))} }`,
    );
  const root = (name, kind, type) =>
    `/** The documents of all fields of ${type.name}, with the types of their variables and answers. */\nexport const ${name} = {\n${Object.values(
      type?.getFields() ?? {},
    )
      .filter((field) => !field.name.startsWith('_'))
      .map((field) => operation(kind, field))
      .join('\n')}\n} as const;`;
  return [
    '// Generated by `npm run contracts` from the published schema.\n/* eslint-disable */',
    "import { operation } from './operation.js';",
    ...enums,
    ...inputs,
    root('queries', 'query', schema.getQueryType()),
    root('mutations', 'mutation', schema.getMutationType()),
    root('subscriptions', 'subscription', schema.getSubscriptionType()),
    `/** GraphQL types without an id of their own: caches keep them inside what holds them. */\nexport const VALUE_TYPES: readonly string[] = ${JSON.stringify(valueTypes(types))};`,
    `/** Fields of Query that answer in pages, with the arguments that tell one list from another. */\nexport const PAGED_FIELDS: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(pagedFields(schema))};`,
    '',
  ].join('\n');
}
