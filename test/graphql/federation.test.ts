import { readFile } from 'node:fs/promises';
import { composeServices } from '@apollo/composition';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(() => server?.close());

const ENTITIES = `query ($r: [_Any!]!) { _entities(representations: $r) {
  ... on Job { id status } ... on Model { id tier } ... on Organization { id name }
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

  it('composes with the demo subgraph of deploy/, so that a router joins both on the id of a job', async () => {
    const demo = await readFile(new URL('../../deploy/demo-subgraph/server.mjs', import.meta.url), 'utf8');
    const [, typeDefs = ''] = /parse\(`(.*?)`\)/s.exec(demo) ?? [];
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
      { __typename: 'Organization', id: org.orgId },
      { __typename: 'Organization', id: other.orgId },
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

  it('resolves a job only for a key that may read jobs', async () => {
    const chatOnly = await server.createKey(org.orgId, { scopes: ['chat'] });
    const { errors } = await server.graphql(ENTITIES, {
      key: chatOnly.key,
      variables: { r: [{ __typename: 'Job', id: 'job_x' }] },
    });
    expect(errors[0]?.extensions).toMatchObject({ code: 'forbidden' });
  });
});
