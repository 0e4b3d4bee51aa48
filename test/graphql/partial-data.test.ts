import type { GraphQLField, GraphQLInputType } from 'graphql';
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPenstockSchema } from '../../schema/index.js';
import { startPenstock, type TestServer } from '../support/server.js';

type Field = GraphQLField<unknown, unknown>;

const schema = buildPenstockSchema();
const fieldsOf = (type: { getFields(): Record<string, Field> } | null | undefined): Field[] =>
  Object.values(type?.getFields() ?? {}).filter(({ name }) => !name.startsWith('_'));
const QUERIES = fieldsOf(schema.getQueryType());

/** A value that the type takes. */
function literal(type: GraphQLInputType): string {
  const bare = getNullableType(type);
  if (isListType(bare)) return `[${literal(bare.ofType)}]`;
  if (isEnumType(bare)) return bare.getValues()[0]!.name;
  if (isInputObjectType(bare)) return `{${demanded(Object.values(bare.getFields())).join(' ')}}`;
  return (
    { Int: '1', SafeInt: '1', Float: '1', Boolean: 'true', DateTime: '"2026-01-01T00:00:00Z"' }[bare.name] ??
    '"x"'
  );
}

const demanded = (
  fields: readonly { name: string; type: GraphQLInputType; defaultValue?: unknown }[],
): string[] =>
  fields
    .filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
    .map(({ name, type }) => `${name}: ${literal(type)}`);

/** A root field as it is asked for, its page of one. */
function asked({ name, args, type }: Field): string {
  const given = [...demanded(args), ...(args.some((one) => one.name === 'first') ? ['first: 1'] : [])];
  const selection = isLeafType(getNamedType(type)) ? '' : ' { __typename }';
  return `${name}${given.length > 0 ? `(${given.join(' ')})` : ''}${selection}`;
}

describe('root fields', () => {
  let server: TestServer;
  let org: Awaited<ReturnType<TestServer['createOrg']>>;
  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ plan: 'business_monthly' });
  });
  afterAll(() => server?.close());

  it('can each be null, queries and mutations', () => {
    const strict = [...QUERIES, ...fieldsOf(schema.getMutationType())].filter(({ type }) =>
      isNonNullType(type),
    );
    expect(strict.map(({ name }) => name)).toEqual([]);
  });

  it('that are refused or find nothing leave their siblings what they are', async () => {
    const { key } = await server.createKey(org.orgId, { scopes: ['usage', 'agents'] });
    const alone: Record<string, unknown> = {};
    const refused: string[] = [];
    for (const field of QUERIES) {
      const { data, errors } = await server.graphql(`{ ${asked(field)} }`, { key });
      alone[field.name] = data?.[field.name] ?? null;
      if (errors.length > 0) refused.push(field.name);
    }
    // The key may not read webhooks, a person's fields are not for keys, and there is no job `x`.
    expect(refused).toEqual(expect.arrayContaining(['webhooks', 'apiKeys', 'job']));
    expect(alone).toMatchObject({ quota: {}, models: {}, jobs: {}, agents: {}, caller: {} });

    const { data, errors } = await server.graphql(`{ ${QUERIES.map(asked).join(' ')} }`, { key });
    expect(data).toEqual(alone);
    expect(errors.map(({ path }) => path?.join('.')).sort()).toEqual(refused.sort());
    for (const { extensions } of errors)
      expect(extensions).toMatchObject({ code: expect.any(String), httpStatus: expect.any(Number) });
  });

  it('of a mutation go on after one that was refused', async () => {
    const { key } = await server.createKey(org.orgId, { scopes: ['agents'] });
    const { data, errors } = await server.graphql(
      `mutation {
        webhook: deleteWebhook(id: "x") { __typename }
        made: createAgent(input: { name: "Kept", systemPrompt: "x" }) { name }
      }`,
      { key },
    );
    expect(data).toEqual({ webhook: null, made: { name: 'Kept' } });
    expect(errors).toMatchObject([{ path: ['webhook'], extensions: { code: 'forbidden', httpStatus: 403 } }]);
  });
});
