import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql';
import {
  getNamedType,
  GraphQLError,
  isCompositeType,
  isListType,
  isNonNullType,
  isUnionType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';
import type { GraphQLCompositeType, GraphQLField, GraphQLOutputType } from 'graphql';
import { guardOf } from '../guard.js';

/** The limits of one operation. A document over a limit is refused with 400 before anything runs (trust 2, "GraphQL"). */
export const LIMITS = {
  /** Characters of the document, including comments; files are sent as variables. */
  length: 1_000_000,
  /** Lexer tokens of the document. */
  tokens: 1000,
  /** Lines of the document, including lines inside its strings. */
  lines: 10_000,
  /** Characters of a name; long aliases also have a cost. */
  nameLength: 255,
  /** Nesting of fields; introspection included. */
  depth: 16,
  /** Directives in the whole document. */
  directives: 50,
  /** The maximum of occurrences of one root field in an operation, including aliases and fragments; the maximum of aliases of any other
   * field (for a field of introspection: the maximum of its occurrences with an alias). */
  repeats: 15,
  /** The sum of the references in all `_entities` of an operation. */
  references: 1000,
  /** Objects of input types in an operation's variables (messages, say): each is coerced twice. */
  inputObjects: 5000,
  /** Price of an operation: see {@link COST}. */
  cost: 1000,
} as const;

/** Prices by which an operation is measured: what a field costs to answer, times the size of the lists around it. */
const COST = { introspection: 100, metered: 50, root: 10, object: 1, leaf: 0 } as const;
/** An alias costs 1 for each group of this number of characters, because the answer repeats it for each item of a list. */
const ALIAS_CHARACTERS = 32;
/** The assumed size of a list without `first`. */
const LIST_SIZE = 20;
const MAX_PAGE = 100;

export type RawVariables = Readonly<Record<string, unknown>>;

interface Measure {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: RawVariables;
  /** Names of the fragments around the current selection. */
  path: string[];
  /** The number of visited selections, so that nested fragments cannot multiply the work of measuring. */
  visited: number;
  /** The references of `_entities`. */
  references: number;
  repeats: Map<string, number>;
  /** The aliases of each type's fields. */
  aliases: Map<string, Set<string>>;
}

/** An error that refuses the whole request; always HTTP 400. */
export function limitError(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'invalid_request', refused: true } });
}

/**
 * @param variables of the request, not coerced yet; null: only the text is checked, its cost is not known.
 * @returns the first limit that the document breaks, or null
 */
export function checkLimits(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: RawVariables | null,
): GraphQLError | null {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  try {
    for (const definition of document.definitions) {
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      const root = schema.getRootType(definition.operation);
      if (!root) continue;
      const measure: Measure = {
        schema,
        fragments,
        variables: { ...sizesByDefault(definition), ...variables },
        path: [],
        visited: 0,
        references: 0,
        repeats: new Map(),
        aliases: new Map(),
      };
      const cost = costOf(measure, { type: root, set: definition.selectionSet, depth: 1 });
      if (variables !== null && cost > LIMITS.cost)
        throw limitError(`Operation is too costly: ${cost} of at most ${LIMITS.cost}`);
    }
    return null;
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

/** The operation's default values of variables that the request does not set: whole numbers, and the lengths of lists. */
function sizesByDefault({ variableDefinitions = [] }: OperationDefinitionNode): RawVariables {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) => {
      const size = defaultValue && sizeOf(defaultValue);
      return size === undefined ? [] : [[variable.name.value, size]];
    }),
  );
}

/** Converts a literal to the form of {@link Measure.variables}. */
function sizeOf(value: ValueNode): unknown {
  if (value.kind === Kind.INT) return Number(value.value);
  if (value.kind === Kind.LIST) return value.values;
  return value.kind === Kind.NULL ? null : undefined;
}

/** The value of an argument; undefined if it is absent (null is not absent) or has no size. */
function givenSize({ variables }: Measure, node: FieldNode, name: string): unknown {
  const given = node.arguments?.find((argument) => argument.name.value === name)?.value;
  if (given?.kind !== Kind.VARIABLE) return given && sizeOf(given);
  const variable = given.name.value;
  return Object.hasOwn(variables, variable) ? variables[variable] : undefined;
}

interface Selected {
  type: GraphQLCompositeType;
  set: SelectionSetNode;
  depth: number;
}

function costOf(measure: Measure, { type, set, depth }: Selected): number {
  if (depth > LIMITS.depth) throw limitError(`Operation is too deep: at most ${LIMITS.depth} levels`);
  let cost = 0;
  for (const selection of set.selections) {
    if (++measure.visited > LIMITS.tokens * 10) throw limitError('Operation is too costly');
    if (selection.kind === Kind.FIELD) cost += costOfField(measure, { type, node: selection, depth });
    else if (selection.kind === Kind.INLINE_FRAGMENT) {
      const named = selection.typeCondition
        ? measure.schema.getType(selection.typeCondition.name.value)
        : type;
      cost += costOf(measure, {
        type: isCompositeType(named) ? named : type,
        set: selection.selectionSet,
        depth,
      });
    } else cost += costOfFragment(measure, { type, name: selection.name.value, depth });
  }
  return cost;
}

function costOfFragment(
  measure: Measure,
  { type, name, depth }: { type: GraphQLCompositeType; name: string; depth: number },
) {
  if (measure.path.includes(name)) throw limitError(`Fragment ${name} is circular`);
  const fragment = measure.fragments.get(name);
  if (!fragment) return 0;
  const named = measure.schema.getType(fragment.typeCondition.name.value);
  measure.path.push(name);
  const cost = costOf(measure, {
    type: isCompositeType(named) ? named : type,
    set: fragment.selectionSet,
    depth,
  });
  measure.path.pop();
  return cost;
}

function costOfField(
  measure: Measure,
  at: { type: GraphQLCompositeType; node: FieldNode; depth: number },
): number {
  const { type, node, depth } = at;
  const field = fieldOf(measure, type, node.name.value);
  if (!field)
    return node.selectionSet ? costOf(measure, { type, set: node.selectionSet, depth: depth + 1 }) : 0;
  const isRoot = depth === 1 && field !== TypeNameMetaFieldDef;
  if (isRoot) countRepeat(measure, field.name);
  else countAlias(measure, type, node);
  if (field.name === '_entities') countReferences(measure, node);
  const own =
    aliasCost(type, node) + (isRoot ? rootCost(field) : node.selectionSet ? COST.object : COST.leaf);
  const inner = getNamedType(field.type);
  if (!node.selectionSet || !isCompositeType(inner)) return own;
  const nested = costOf(measure, { type: inner, set: node.selectionSet, depth: depth + 1 });
  return own + nested * multiplier(measure, field, node);
}

function countRepeat({ repeats }: Measure, name: string): void {
  const times = (repeats.get(name) ?? 0) + 1;
  repeats.set(name, times);
  if (times > LIMITS.repeats)
    throw limitError(`Field ${name} stands more than ${LIMITS.repeats} times in the operation`);
}

/**
 * A field's value is written once for each alias, without extra cost: three hundred aliases of a long text make one
 * page a gigabyte. Aliases are counted over the whole operation, because one object can be selected in many places. The lists of introspection have no
 * cost either, so every occurrence counts there; no tool for introspection needs an alias.
 */
function countAlias(measure: Measure, type: GraphQLCompositeType, { name, alias }: FieldNode): void {
  if (alias === undefined) return;
  const field = `${type.name}.${name.value}`;
  if (type.name.startsWith('__')) return countRepeat(measure, field);
  const { aliases } = measure;
  const names = aliases.get(field) ?? new Set();
  aliases.set(field, names.add(alias.value));
  if (names.size > LIMITS.repeats)
    throw limitError(`Field ${field} has more than ${LIMITS.repeats} aliases in the operation`);
}

/** A router requests a page's entities at once; each is an object of the answer. */
function countReferences(measure: Measure, node: FieldNode): void {
  const list = givenSize(measure, node, 'representations');
  measure.references += Array.isArray(list) ? list.length : 1;
  if (measure.references > LIMITS.references)
    throw limitError(`Operation refers to more than ${LIMITS.references} entities`);
}

/** The lists around a field of introspection have no price of their own. */
function aliasCost(type: GraphQLCompositeType, { alias }: FieldNode): number {
  const cost = Math.floor((alias?.value.length ?? 0) / ALIAS_CHARACTERS);
  return type.name.startsWith('__') ? cost * LIST_SIZE : cost;
}

function rootCost(field: GraphQLField<unknown, unknown>): number {
  // A whole schema is a hundred times longer than other answers, and tools request it only once.
  if (field === SchemaMetaFieldDef || field === TypeMetaFieldDef) return COST.introspection;
  return guardOf(field).admittedByService ? COST.metered : COST.root;
}

function fieldOf(
  { schema }: Measure,
  type: GraphQLCompositeType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  if (type === schema.getQueryType()) {
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  }
  return isUnionType(type) ? undefined : type.getFields()[name];
}

/** A connection is as large as its `first` or `last`; `nodes` and `edges` in it are those items. Other lists count as {@link LIST_SIZE}. */
function multiplier(measure: Measure, field: GraphQLField<unknown, unknown>, node: FieldNode): number {
  if (field.args.some((argument) => argument.name === 'first')) return pageSize(measure, field, node);
  // Introspection's lists are the schema's own, and graphql-js bounds how deep they nest (MaxIntrospectionDepthRule).
  if (getNamedType(field.type).name.startsWith('__')) return 1;
  if (field.name === 'nodes' || field.name === 'edges' || field.name.startsWith('__')) return 1;
  return isList(field.type) ? LIST_SIZE : 1;
}

/** Variables are not coerced yet: a value that is not a number is refused later, whatever is counted here. */
function pageSize(measure: Measure, field: GraphQLField<unknown, unknown>, node: FieldNode): number {
  const byDefault = field.args.find((argument) => argument.name === 'first')?.defaultValue;
  const last = field.args.some(({ name }) => name === 'last') ? givenSize(measure, node, 'last') : undefined;
  const given = last ?? givenSize(measure, node, 'first');
  const size = given === undefined ? byDefault : (given ?? LIST_SIZE);
  return typeof size === 'number' && size >= 1 && size <= MAX_PAGE ? size : MAX_PAGE;
}

function isList(type: GraphQLOutputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type);
}
