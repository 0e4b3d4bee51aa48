import type { GraphQLInputType, GraphQLOutputType } from 'graphql';
import {
  execute,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { compile, type CompiledOperation } from '../../rest-compat/shared/compile.js';
import { mountRoute } from '../../rest-compat/shared/mount.js';
import { routes } from '../../rest-compat/contract/index.js';
import { buildPenstockSchema } from '../../schema/index.js';
import { subscriptionResolvers } from '../../src/boot/subscription-resolvers.js';

const LEAVES: Record<string, unknown> = {
  String: 'text',
  ID: 'id_1',
  Int: 3,
  SafeInt: 5,
  Float: 1.5,
  Boolean: true,
  DateTime: new Date(86_400_000),
  JSON: { a: [1, null, { b: 'c' }] },
};

/** A value of the type: with every field there, or with null wherever null may be. A field is made when it is read: types refer to each other in circles. */
function valueOf(type: GraphQLOutputType, nulls: boolean): unknown {
  if (isNonNullType(type)) return valueOf(type.ofType, nulls);
  if (isListType(type)) return [valueOf(type.ofType, nulls), valueOf(type.ofType, false)];
  if (isEnumType(type)) return type.getValues().at(-1)?.value;
  if (!isObjectType(type)) return LEAVES[type.name] ?? 'word';
  const value = {};
  for (const field of Object.values(type.getFields())) {
    const get = () => (nulls && !isNonNullType(field.type) ? null : valueOf(field.type, nulls));
    Object.defineProperty(value, field.name, { enumerable: true, get });
  }
  return value;
}

function inputOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return inputOf(type.ofType);
  if (isListType(type)) return [inputOf(type.ofType)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (!isInputObjectType(type)) return LEAVES[type.name] ?? 'word';
  const required = Object.values(type.getFields()).filter((field) => isNonNullType(field.type));
  return Object.fromEntries(required.map((field) => [field.name, inputOf(field.type)]));
}

/** The schema with plain values for resolvers: what is under test is how they are selected. */
function plainSchema(nulls: boolean) {
  const schema = buildPenstockSchema({ resolvers: subscriptionResolvers });
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('_')) continue;
    const isRoot = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(
      type,
    );
    for (const field of Object.values(type.getFields())) {
      if (isRoot) field.resolve = () => Promise.resolve(valueOf(field.type, nulls));
      else delete field.resolve;
    }
  }
  return schema;
}

describe.each([
  ['with all its fields', false],
  ['with null wherever it may be', true],
])('an answer %s', (_what, nulls) => {
  const schema = plainSchema(nulls);
  const documents = routes.flatMap(({ operationId, document }) =>
    document === undefined ? [] : [[operationId, document] as const],
  );

  it.each(documents)('of the stored document of %s is that of graphql-js', async (_operationId, document) => {
    const compiled = compile(schema, document);
    const values = Object.fromEntries(compiled.variables.map(({ name, type }) => [name, inputOf(type)]));
    const expected = await execute({
      schema,
      document: parse(document),
      contextValue: {},
      variableValues: values,
    });
    expect(expected.errors).toBeUndefined();
    const answer =
      compiled.kind === 'subscription' ? await compiled.show({}, values, {}) : await compiled.run(values, {});
    expect(JSON.stringify(answer)).toBe(JSON.stringify(expected.data?.['body']));
  });
});

describe('a stored document', () => {
  const schema = plainSchema(false);
  const quota = schema.getQueryType()!.getFields()['quota']!;

  function compiled(value: unknown): CompiledOperation {
    quota.resolve = () => value;
    return compile(schema, `query { body: quota { a: orgId plan { code } b: orgId } }`);
  }

  it('fails as a whole where a value that must be there is null', async () => {
    await expect(async () => compiled({ orgId: null }).run({}, {})).rejects.toThrow('orgId is null');
  });

  it('waits for fields that come later and keeps their place', async () => {
    const value = { orgId: Promise.resolve('o'), plan: Promise.resolve({ code: Promise.resolve('free') }) };
    expect(JSON.stringify(await compiled(value).run({}, {}))).toBe(
      '{"a":"o","plan":{"code":"free"},"b":"o"}',
    );
  });

  it('fails once where several later fields fail', async () => {
    const fail = () => Promise.reject(new Error('later'));
    await expect(async () => compiled({ orgId: fail(), plan: fail() }).run({}, {})).rejects.toThrow('later');
  });

  it('stops the boot when it no longer fits the schema', () => {
    // not in the schema: the boot must stop
    expect(() => compile(schema, `query { body: quota { gone } }`)).toThrow('gone');
    expect(() => compile(schema, `query { quota { orgId } }`)).toThrow('aliased body');
  });
});

describe('a row whose answer the engine writes', () => {
  const schema = plainSchema(false);
  const chat = routes.find(({ operation }) => operation === 'createChatCompletion')!;

  it('has the guard of its operation, and no document', () => {
    const { operation, document, stream } = mountRoute(schema, chat);
    expect(document).toBeNull();
    expect(operation.field).toBe(schema.getMutationType()!.getFields()['createChatCompletion']);
    expect(stream?.field).toBe(schema.getSubscriptionType()!.getFields()['chatCompletion']);
  });

  it('stops the boot when the schema no longer has its operation', () => {
    expect(() => mountRoute(schema, { ...chat, streamOperation: 'gone' })).toThrow('gone');
    const { operation: _operation, ...without } = chat;
    expect(() => mountRoute(schema, without)).toThrow('neither a document nor an operation');
  });
});
