import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { composeServices } from '@apollo/composition';
import {
  buildASTSchema,
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  Kind,
  parse,
  printType,
  validateSchema,
  visit,
} from 'graphql';
import type { ConstDirectiveNode, GraphQLObjectType, IntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { request } from 'undici';
import { buildPenstockSchema, guardOf } from '../../schema/index.js';
import { childEnv, freePort } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(() => server?.close());

/** What the demo subgraph of deploy/ says of itself, started as its image starts it. */
async function demoSdl(): Promise<string> {
  const program = fileURLToPath(new URL('../../deploy/demo-subgraph/server.mjs', import.meta.url));
  const port = await freePort();
  const child = spawn(process.execPath, [program], {
    env: childEnv({ PORT: String(port) }),
    stdio: 'ignore',
  });
  try {
    return await eventually(
      async () => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ query: '{ _service { sdl } }' });
        const response = await request(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
        const answer = (await response.body.json()) as { data: { _service: { sdl: string } } };
        return answer.data._service.sdl;
      },
      { timeoutMs: 60_000, what: 'the demo subgraph' },
    );
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

interface Directed {
  readonly directives?: readonly ConstDirectiveNode[];
}

function hasTag({ directives }: Directed, name: string): boolean {
  const values = directives?.flatMap(({ arguments: given }) => given?.map(({ value }) => value) ?? []) ?? [];
  return values.some((value) => value.kind === Kind.STRING && value.value === name);
}

/** What is left of a schema without the types and fields of a tag, as a router's contract makes it. */
function contractWithout(sdl: string, name: string) {
  const drop = { enter: (node: Directed) => (hasTag(node, name) ? null : undefined) };
  const left = visit(parse(sdl), {
    FieldDefinition: drop,
    ObjectTypeDefinition: drop,
    InputObjectTypeDefinition: drop,
    EnumTypeDefinition: drop,
    ScalarTypeDefinition: drop,
    UnionTypeDefinition: drop,
  });
  return buildASTSchema(left, { assumeValidSDL: true });
}

const ENTITIES = `query ($r: [_Any!]!) { _entities(representations: $r) {
  ... on Job { id status } ... on Model { id tier } ... on PenstockOrganization { id name }
} }`;

describe('the subgraph', () => {
  it('composes into a supergraph without a hint', async () => {
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', {
      key: org.key,
    });
    const { errors, hints } = composeServices([
      { name: 'penstock', url: server.graphqlUrl, typeDefs: parse(data!._service.sdl) },
    ]);
    expect(errors).toBeUndefined();
    expect(hints).toEqual([]);
  });

  it('composes with a subgraph that pages its lists as it does', async () => {
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', {
      key: org.key,
    });
    const reviews = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@shareable"])
      type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
      type Query { reviews: PageInfo! }`;
    const { errors } = composeServices([
      { name: 'penstock', url: server.graphqlUrl, typeDefs: parse(data!._service.sdl) },
      { name: 'reviews', url: 'http://reviews.invalid/', typeDefs: parse(reviews) },
    ]);
    expect(errors).toBeUndefined();
  });

  it('composes with a company’s own subgraph, whose names are the ones that every graph has', async () => {
    const company = await readFile(new URL('../../schema/company.graphql', import.meta.url), 'utf8');
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', {
      key: org.key,
    });
    const ours = { name: 'penstock', url: server.graphqlUrl, typeDefs: parse(data!._service.sdl) };
    const theirs = { name: 'company', url: 'http://company.invalid/', typeDefs: parse(company) };
    const { errors, hints } = composeServices([ours, theirs]);
    expect(errors).toBeUndefined();
    expect(hints).toEqual([]);
  });

  it('tags what only owners, admins and operators use, so that a company’s contract for its clients leaves it out', async () => {
    const sdl = await readFile(new URL('../../schema/schema.graphql', import.meta.url), 'utf8');
    const tagged = (type: string) =>
      parse(sdl).definitions.flatMap((definition) =>
        definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.name.value === type
          ? (definition.fields ?? []).filter((field) => hasTag(field, 'admin')).map(({ name }) => name.value)
          : [],
      );
    const forAdmins = (type: GraphQLObjectType | null | undefined) =>
      Object.values(type?.getFields() ?? {}).filter((field) => {
        const { role, operator } = guardOf(field);
        return role === 'admin' || operator === true;
      });
    const schema = buildPenstockSchema();
    const admins = [schema.getQueryType(), schema.getMutationType()].map((type) =>
      forAdmins(type).map(({ name }) => name),
    );
    expect(admins.flat()).toContain('createApiKey');
    expect([tagged('Query'), tagged('Mutation')]).toEqual(admins);
    const filtered = contractWithout(sdl, 'admin');
    expect(filtered.getType('ApiKey')).toBeUndefined();
    expect(filtered.getType('OperatedOrganization')).toBeUndefined();
    expect(filtered.getType('Webhook')).toBeDefined();
    expect(validateSchema(filtered)).toEqual([]);
  });

  it('composes with the demo subgraph of deploy/, so that a router joins both on the id of a job', async () => {
    const typeDefs = await demoSdl();
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', {
      key: org.key,
    });
    const { errors, hints, supergraphSdl } = composeServices([
      { name: 'penstock', url: server.graphqlUrl, typeDefs: parse(data!._service.sdl) },
      { name: 'demo', url: 'http://demo.invalid/', typeDefs: parse(typeDefs) },
    ]);
    expect(errors).toBeUndefined();
    expect(hints).toEqual([]);
    const job = /^type Job\b.*?^\}/ms.exec(supergraphSdl ?? '')?.[0] ?? '';
    expect(job).toMatch(/@join__type\(graph: DEMO, key: "id"\)/);
    expect(job).toMatch(/@join__type\(graph: PENSTOCK, key: "id"\)/);
    expect(job).toMatch(/^ {2}note: String @join__field\(graph: DEMO\)$/m);
    expect(job).toMatch(/^ {2}status: .*@join__field\(graph: PENSTOCK\)$/m);
  });

  it('resolves references of all types, each type in one look-up, and hides what is not the caller’s', async () => {
    const other = await server.createOrg({ plan: 'business_monthly' });
    const ids: string[] = [];
    for (const owner of [org, org, other]) {
      const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
        key: owner.key,
        body: { prompt: 'x', size: '512x512' },
      });
      ids.push(made.body.id);
    }
    const getMany = vi.spyOn(server.services.jobs, 'getMany');
    const references = [
      ...ids.map((id) => ({ __typename: 'Job', id })),
      { __typename: 'PenstockOrganization', id: org.orgId },
      { __typename: 'PenstockOrganization', id: other.orgId },
      { __typename: 'Model', id: 'no/such' },
      { __typename: 'Job', id: 'job_unknown' },
    ];
    const { data, errors } = await server.graphql<{ _entities: unknown[] }>(ENTITIES, {
      key: org.key,
      variables: { r: references },
    });
    expect(errors).toEqual([]);
    expect(data?._entities.map((entity) => (entity as { id: string } | null)?.id ?? null)).toEqual([
      ids[0],
      ids[1],
      null,
      org.orgId,
      null,
      null,
      null,
    ]);
    expect(getMany).toHaveBeenCalledTimes(1);
  });

  it('resolves all agents and all runs of an operation in one look-up each, those of others as null', async () => {
    const other = await server.createOrg({ plan: 'business_monthly' });
    const made: string[] = [];
    for (const owner of [org, org, other]) {
      const { data } = await server.graphql<{ createAgent: { id: string } }>(
        'mutation { createAgent(input: { name: "a", systemPrompt: "b" }) { id } }',
        { key: owner.key },
      );
      made.push(data!.createAgent.id);
    }
    const run = await server.graphql<{ runAgent: { id: string } }>(
      'mutation ($id: ID!) { runAgent(id: $id, input: { input: "x" }) { id } }',
      { key: org.key, variables: { id: made[0] } },
    );
    const agents = vi.spyOn(server.services.agents, 'getMany');
    const runs = vi.spyOn(server.services.agentRuns, 'getMany');
    const ids = [...made, 'agt_unknown', run.data!.runAgent.id, 'run_unknown'];
    const { data, errors } = await server.graphql<{ _entities: ({ id: string } | null)[] }>(
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Agent { id } ... on AgentRun { id } } }',
      {
        key: org.key,
        variables: {
          r: ids.map((id) => ({ __typename: id.startsWith('run_') ? 'AgentRun' : 'Agent', id })),
        },
      },
    );
    expect(errors).toEqual([]);
    expect(data?._entities.map((entity) => entity?.id ?? null)).toEqual([
      made[0],
      made[1],
      null,
      null,
      run.data!.runAgent.id,
      null,
    ]);
    expect([agents.mock.calls.length, runs.mock.calls.length]).toEqual([1, 1]);
  });

  it.each([
    [{ __typename: 'Job', id: { toString: 1 } }, null],
    [{ __typename: 'Job' }, null],
  ])('resolves %j to nothing', async (reference, expected) => {
    const { data, errors } = await server.graphql<{ _entities: unknown[] }>(ENTITIES, {
      key: org.key,
      variables: { r: [reference] },
    });
    expect(errors).toEqual([]);
    expect(data?._entities).toEqual([expected]);
  });

  it.each([{ __typename: '__proto__', id: 'x' }, { __typename: {} }, 'x', 5, []])(
    'refuses the reference %j',
    async (reference) => {
      const { errors } = await server.graphql(ENTITIES, { key: org.key, variables: { r: [reference] } });
      expect(errors[0]?.extensions).toMatchObject({ code: 'invalid_request', param: 'representations' });
    },
  );

  it('publishes what schema.graphql holds', async () => {
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', {
      key: org.key,
    });
    const published = await readFile(new URL('../../schema/schema.graphql', import.meta.url), 'utf8');
    // What follows are the definitions of federation's own directives.
    expect(data!._service.sdl.slice(0, published.trim().length)).toBe(published.trim());
  });

  it('publishes a schema for clients that is what they may introspect, without the parts for composition', async () => {
    const { data } = await server.graphql<IntrospectionQuery>(
      getIntrospectionQuery({ specifiedByUrl: true }),
      { key: org.key },
    );
    const response = await fetch(`${server.origin}/graphql/client.graphql`);
    const text = await response.text();
    expect(text).not.toMatch(/^extend |@key|@link/m);
    const published = buildSchema(text);
    const introspected = buildClientSchema(data!);
    const fields = Object.keys(introspected.getQueryType()!.getFields());
    expect(fields).toContain('node');
    expect(Object.keys(published.getQueryType()!.getFields())).toEqual(
      fields.filter((name) => !name.startsWith('_')),
    );
    const types = Object.values(published.getTypeMap()).filter(({ name }) => name !== 'Query');
    const served = types.map(({ name }) => introspected.getType(name));
    expect(types.map((type) => printType(type))).toEqual(served.map((type) => type && printType(type)));
  });

  it('resolves a job only for a key that may read jobs', async () => {
    const chatOnly = await server.createKey(org.orgId, { scopes: ['chat'] });
    const { errors } = await server.graphql(ENTITIES, {
      key: chatOnly.key,
      variables: { r: [{ __typename: 'Job', id: 'job_x' }] },
    });
    expect(errors[0]?.extensions).toMatchObject({ code: 'forbidden' });
  });
});
