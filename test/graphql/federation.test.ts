import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { composeServices } from '@apollo/composition';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { request } from 'undici';
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
