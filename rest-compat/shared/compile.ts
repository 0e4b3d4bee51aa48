import type {
  ArgumentNode,
  FieldNode,
  GraphQLArgument,
  GraphQLField,
  GraphQLInputField,
  GraphQLInputType,
  GraphQLObjectType,
  GraphQLOutputType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
  OperationTypeNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql';
import {
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  typeFromAST,
  validate,
  valueFromAST,
} from 'graphql';

/** A variable of a stored document: a parameter of its REST endpoint. */
export interface Variable {
  /** The REST name. */
  name: string;
  type: GraphQLInputType;
  /** Undefined if there is none. */
  defaultValue: unknown;
}

type Values = Readonly<Record<string, unknown>>;
type RootField = GraphQLField<unknown, object>;

/** The root field of the schema that a row of the table calls. */
export interface Operation {
  kind: OperationTypeNode;
  field: RootField;
  variables: readonly Variable[];
  /** The field's selections, if a document selects a part of its answer. */
  selection: SelectionSetNode | undefined;
  /** Starts a subscription: its source events. */
  subscribe(values: Values, context: object): Promise<AsyncIterable<unknown>>;
}

/**
 * A stored document, compiled. The REST layer has bound its values (checked, with defaults), so nothing is coerced again; and any error is the
 * whole answer's error, because REST has no partial results. So it is cheaper than a general executor. A differential test compares it with
 * graphql-js.
 */
export interface CompiledOperation extends Operation {
  /** Runs a query or mutation. */
  run(values: Values, context: object): unknown;
  /** One source event in the form of the document. */
  show(event: unknown, values: Values, context: object): unknown;
}

/** @throws Error if the document does not fit the schema or has another form than the table allows: the start fails */
export function compile(schema: GraphQLSchema, document: string): CompiledOperation {
  const parsed = parse(document, { noLocation: true });
  const [error] = validate(schema, parsed);
  if (error) throw new Error(`${error.message} in ${document}`);
  const [operation, ...others] = parsed.definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0)
    throw new Error(`one operation expected: ${document}`);
  const [node, ...more] = operation.selectionSet.selections;
  if (node?.kind !== Kind.FIELD || node.alias?.value !== 'body' || more.length > 0)
    throw new Error(`one root field, aliased body, expected: ${document}`);
  return compileRoot(schema, operation, node);
}

function compileRoot(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  node: FieldNode,
): CompiledOperation {
  const kind = operation.operation;
  const field = rootField(schema, kind, node.name.value);
  const argumentsOf = compileArguments(field.args, node.arguments ?? []);
  const complete = completer(field.type, node.selectionSet, field.name);
  const resolve = (source: unknown, values: Values, context: object) => {
    const run: Run = { context, waits: [] };
    const value = field.resolve?.(source, argumentsOf(values), context, NO_INFO);
    return isPromise(value)
      ? value.then((shown) => finish(complete(shown, run), run))
      : finish(complete(value, run), run);
  };
  return {
    kind,
    field,
    variables: variablesOf(schema, operation),
    selection: node.selectionSet,
    run: (values, context) => resolve(undefined, values, context),
    show: resolve,
    subscribe: (values, context) => eventsOf(field, argumentsOf(values), context),
  };
}

/** A root field without a document: its arguments are the variables. @throws Error if the schema has no such field */
export function findOperation(schema: GraphQLSchema, kind: OperationTypeNode, name: string): Operation {
  const field = rootField(schema, kind, name);
  return {
    kind,
    field,
    variables: field.args.map(({ name: variable, type, defaultValue }) => ({
      name: variable,
      type,
      defaultValue,
    })),
    selection: undefined,
    subscribe: (values, context) => eventsOf(field, values, context),
  };
}

function rootField(schema: GraphQLSchema, kind: OperationTypeNode, name: string): RootField {
  const field = schema.getRootType(kind)?.getFields()[name] as RootField | undefined;
  if (!field) throw new Error(`unknown root field ${name}`);
  return field;
}

async function eventsOf(field: RootField, args: Values, context: object): Promise<AsyncIterable<unknown>> {
  const events: unknown = await field.subscribe?.(undefined, args, context, NO_INFO);
  return events as AsyncIterable<unknown>;
}

/** Resolvers of this schema do not use `info`. */
const NO_INFO = {} as GraphQLResolveInfo;

function variablesOf(schema: GraphQLSchema, operation: OperationDefinitionNode): Variable[] {
  return (operation.variableDefinitions ?? []).map((definition) => {
    const type = typeFromAST(schema, definition.type) as GraphQLInputType;
    const defaultValue = definition.defaultValue ? valueFromAST(definition.defaultValue, type) : undefined;
    return { name: definition.variable.name.value, type, defaultValue };
  });
}

function compileArguments(declared: readonly GraphQLArgument[], nodes: readonly ArgumentNode[]) {
  const sources = declared.map((argument) => {
    const node = nodes.find(({ name }) => name.value === argument.name)?.value;
    return {
      name: argument.name,
      value: node && compileValue(node, argument.type),
      // A null that the document itself says is no absent value.
      fixed: node?.kind === Kind.NULL ? null : argument.defaultValue,
    };
  });
  return (values: Values): Record<string, unknown> => {
    const args: Record<string, unknown> = {};
    for (const { name, value, fixed } of sources) {
      const given = value?.(values) ?? fixed;
      if (given !== undefined) args[name] = given;
    }
    return args;
  };
}

/** A value of a document: a variable, an object that contains variables, or a constant. Undefined: absent. */
function compileValue(node: ValueNode, type: GraphQLInputType): (values: Values) => unknown {
  if (node.kind === Kind.VARIABLE) return (values) => values[node.name.value];
  const inner = isNonNullType(type) ? type.ofType : type;
  if (node.kind !== Kind.OBJECT || !isInputObjectType(inner)) {
    const fixed = valueFromAST(node, type);
    return () => fixed;
  }
  const known = inner.getFields();
  const fields = node.fields.map(({ name, value }) => ({
    name: name.value,
    value: compileValue(value, (known[name.value] as GraphQLInputField).type),
  }));
  return (values) => {
    const object: Record<string, unknown> = {};
    for (const { name, value } of fields) {
      const given = value(values);
      if (given !== undefined) object[name] = given;
    }
    return object;
  };
}

/** The promises of one execution besides its root field. */
interface Run {
  context: object;
  waits: Promise<void>[];
}

type Complete = (value: unknown, run: Run) => unknown;

/** The result, once all promises have been filled in. */
function finish(result: unknown, run: Run): unknown {
  return run.waits.length === 0 ? result : awaitAll(result, run);
}

async function awaitAll(result: unknown, run: Run): Promise<unknown> {
  // Completing a value can add more promises.
  while (run.waits.length > 0) await Promise.all(run.waits.splice(0));
  return result;
}

const isPromise = (value: unknown): value is Promise<unknown> => value instanceof Promise;

function completer(type: GraphQLOutputType, set: SelectionSetNode | undefined, name: string): Complete {
  if (isNonNullType(type)) {
    const inner = completer(type.ofType, set, name);
    return (value, run) => {
      if (value == null) throw new Error(`${name} is null`);
      return inner(value, run);
    };
  }
  if (isListType(type)) {
    const item = completer(type.ofType, set, name);
    return (value, run) =>
      value == null ? null : Array.from(value as Iterable<unknown>, (entry) => item(entry, run));
  }
  if (isLeafType(type)) return (value) => (value == null ? null : type.serialize(value));
  if (!isObjectType(type) || !set) throw new Error(`${name}: stored documents read object types only`);
  return objectCompleter(type, set);
}

function objectCompleter(type: GraphQLObjectType, set: SelectionSetNode): Complete {
  const fields = set.selections.map((node) => {
    if (node.kind !== Kind.FIELD) throw new Error('stored documents hold no fragments');
    const field = type.getFields()[node.name.value] as RootField | undefined;
    if (!field) throw new Error(`unknown field ${type.name}.${node.name.value}`);
    const args = compileArguments(field.args, node.arguments ?? [])({});
    return {
      key: node.alias?.value ?? field.name,
      name: field.name,
      resolve: field.resolve,
      args,
      complete: completer(field.type, node.selectionSet, `${type.name}.${field.name}`),
    };
  });
  return (source, run) => {
    if (source == null) return null;
    const result: Record<string, unknown> = {};
    for (const { key, name, resolve, args, complete } of fields) {
      const value = resolve
        ? resolve(source, args, run.context, NO_INFO)
        : (source as Record<string, unknown>)[name];
      if (isPromise(value)) {
        // Reserves the key's position in the answer.
        result[key] = null;
        run.waits.push(value.then((resolved) => void (result[key] = complete(resolved, run))));
      } else result[key] = complete(value, run);
    }
    return result;
  };
}
