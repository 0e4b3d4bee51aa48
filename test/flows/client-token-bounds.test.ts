import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { makeToken, openEvents } from '../support/client-tokens.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let key: string;
const SCOPES = ['usage', 'agents', 'chat', 'image'];

/** Two of each kind: one that a token is bound to, and another. */
const own: Record<string, string> = {};
const other: Record<string, string> = {};

beforeAll(async () => {
  server = await startPenstock({
    plans: { plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  for (const made of [own, other]) {
    const image = { key, body: { prompt: 'a hill' } };
    const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', image);
    made['job'] = job.id;
    made['agent'] = await makeAgent(server, key);
    made['run'] = await runOf(made['agent']!);
    const { data } = await server.graphql<{ startResponse: { id: string } }>(
      'mutation { startResponse(input: { input: "Hello", maxOutputTokens: 16 }) { id } }',
      { key },
    );
    made['response'] = data?.startResponse.id ?? '';
  }
});
afterAll(() => server?.close());

async function runOf(agentId: string): Promise<string> {
  const query = 'mutation ($id: ID!) { runAgent(id: $id, input: { input: "Hello" }) { id } }';
  const { data } = await server.graphql<{ runAgent: { id: string } }>(query, {
    key,
    variables: { id: agentId },
  });
  return data?.runAgent.id ?? '';
}

const bound = async (kind: string): Promise<string> =>
  (await makeToken(server, key, { scopes: SCOPES, [`${kind}_id`]: own[kind] })).token;

/** What an id answers over GraphQL and REST, by kind. */
const READS: [kind: string, field: (id: string) => string, path: (id: string) => string][] = [
  ['job', (id) => `{ job(id: "${id}") { id } }`, (id) => `/api/v1/jobs/${id}`],
  ['run', (id) => `{ agentRun(id: "${id}") { id } }`, (id) => `/api/v1/agents/${own['agent']}/runs/${id}`],
  ['agent', (id) => `{ agent(id: "${id}") { id } }`, (id) => `/api/v1/agents/${id}`],
  ['response', (id) => `{ response(id: "${id}") { id } }`, (id) => `/v1/responses/${id}`],
];

async function get(path: string, token: string): Promise<{ status: number; text: string }> {
  const answer = await server.raw(path, { method: 'GET', headers: { authorization: `Bearer ${token}` } });
  return { status: answer.statusCode, text: await answer.body.text() };
}

describe.each(['job', 'run', 'agent', 'response'])('a token that is bound to a %s', (kind) => {
  it('reads it, and of everything else what is said of an unknown id', async () => {
    const token = await bound(kind);
    for (const [what, field, path] of READS) {
      const isOwn = what === kind || (kind === 'agent' && what === 'run');
      for (const [id, reads] of [
        [own[what]!, isOwn],
        [other[what]!, false],
      ] as const) {
        const { data, errors } = await server.graphql(field(id), { key: token });
        const unknown = await server.graphql(field('unknown'), { key });
        if (reads) expect([what, errors]).toEqual([what, []]);
        else expect([what, data ?? null, errors]).toEqual([what, unknown.data ?? null, unknown.errors]);
        // A run is read below its agent, which a token of the run alone need not name.
        const answer = await get(path(id), token);
        expect([what, answer.status]).toEqual([what, reads ? 200 : 404]);
      }
    }
  });

  it('lists it alone', async () => {
    const token = await bound(kind);
    const listed = async (field: string): Promise<unknown> => {
      const { data, errors } = await server.graphql<Record<string, { nodes: unknown[] }>>(`{ ${field} }`, {
        key: token,
      });
      return errors[0]?.extensions['code'] ?? Object.values(data ?? {})[0]?.nodes;
    };
    const only = (what: string) => (what === kind ? [{ id: own[what] }] : []);
    expect(await listed('jobs { nodes { id } }')).toEqual(only('job'));
    expect(await listed('jobs(pending: true, tool: music) { nodes { id } }')).toEqual([]);
    expect(await listed('agents(includeTemplates: true) { nodes { id } }')).toEqual(only('agent'));
    expect(await listed('responses { nodes { id } }')).toEqual(only('response'));
    expect(await listed(`agentRuns(agentId: "${other['agent']}") { nodes { id } }`)).toBe('not_found');
    const runs = kind === 'run' || kind === 'agent' ? [{ id: own['run'] }] : 'not_found';
    expect(await listed(`agentRuns(agentId: "${own['agent']}") { nodes { id } }`)).toEqual(runs);
    const { status, text } = await get('/api/v1/jobs', token);
    expect([status, (JSON.parse(text) as { jobs: { id: string }[] }).jobs.map(({ id }) => id)]).toEqual([
      200,
      kind === 'job' ? [own['job']] : [],
    ]);
  });

  it('makes nothing, changes nothing else, and learns nothing of the organisation', async () => {
    const token = await bound(kind);
    for (const query of [
      '{ quota { orgId } }',
      '{ penstockOrganization { id } }',
      '{ usageRecords { nodes { id } } }',
      '{ estimate(input: { chat: { messages: [{ role: user, content: "x" }] } }) { model } }',
      'mutation { createChatCompletion(input: { messages: [{ role: user, content: "x" }] }) { id } }',
      'mutation { startResponse(input: { input: "x" }) { id } }',
      'mutation { generateImage(input: { prompt: "x" }) { created } }',
      'mutation { createAgent(input: { name: "x", systemPrompt: "x" }) { id } }',
    ]) {
      const { errors } = await server.graphql(query, { key: token });
      expect([query, errors[0]?.extensions['code']]).toEqual([query, 'forbidden']);
    }
    for (const [path, body] of [
      ['/chat/completions', { messages: [{ role: 'user', content: 'x' }] }],
      ['/images/generations', { prompt: 'x' }],
      ['/embeddings', { input: 'x' }],
    ] as const)
      expect([path, (await server.rest('POST', path, { key: token, body })).status]).toEqual([path, 403]);
    for (const agent of [own['agent'], other['agent']]) {
      const run = await server.graphql(
        `mutation { runAgent(id: "${agent}", input: { input: "x" }) { id } }`,
        {
          key: token,
        },
      );
      const may = kind === 'agent' && agent === own['agent'];
      expect(run.errors.map(({ extensions }) => extensions['code'])).toEqual(may ? [] : ['not_found']);
      const code = kind === 'agent' && agent === own['agent'] ? 'forbidden' : 'not_found';
      for (const field of [
        `updateAgent(id: "${agent}", input: { name: "x" }) { id }`,
        `deleteAgent(id: "${agent}") { success }`,
      ])
        expect(
          (await server.graphql(`mutation { ${field} }`, { key: token })).errors[0]?.extensions['code'],
        ).toBe(code);
      expect((await server.rest('GET', `/agents/${agent}/knowledge`, { key: token })).status).toBe(
        code === 'forbidden' ? 403 : 404,
      );
    }
    const cancel = await server.rest('DELETE', `/jobs/${other['job']}`, { key: token });
    expect(cancel.status).toBe(404);
  });

  it('knows no other entity of a supergraph', async () => {
    const token = await bound(kind);
    const representations = ['Job', 'AgentRun', 'Agent'].flatMap((__typename, at) =>
      [own, other].map((made) => ({ __typename, id: made[['job', 'run', 'agent'][at]!] })),
    );
    const query =
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Job { id } ... on AgentRun { id } ... on Agent { id } } }';
    const { data } = await server.graphql<{ _entities: ({ id: string } | null)[] }>(query, {
      key: token,
      variables: { r: representations },
    });
    const known = kind === 'agent' ? [own['run'], own['agent']] : kind === 'response' ? [] : [own[kind]];
    expect(data?._entities.flatMap((entity) => entity?.id ?? [])).toEqual(known);
  });
});

/** The subscriptions that follow one object. */
const FOLLOWS: [kind: string, field: (id: string) => string][] = [
  ['job', (id) => `jobProgress(id: "${id}", after: 0) { sequence }`],
  ['run', (id) => `agentRunSteps(runId: "${id}", after: 0) { sequence }`],
  ['response', (id) => `responseEvents(id: "${id}", after: 0) { sequence }`],
];

describe.each(['job', 'run', 'agent', 'response'])('a token that is bound to a %s follows', (kind) => {
  it('it alone, over WebSocket and event streams', async () => {
    const token = await bound(kind);
    const ws = await openRawWebSocket(`${server.wsUrl}?access_token=${token}`);
    ws.send({ type: 'connection_init' });
    await ws.next('connection_ack');
    let number = 0;
    for (const [what, field] of FOLLOWS)
      for (const id of [own[what]!, other[what]!]) {
        const follows = (what === kind || (kind === 'agent' && what === 'run')) && id === own[what];
        const query = `subscription { ${field(id)} }`;
        const name = `s${(number += 1)}`;
        ws.send({ id: name, type: 'subscribe', payload: { query } });
        const of = () => ws.messages.filter((message) => message['id'] === name);
        await eventually(() => of().length > 0);
        expect([what, of()[0]?.['type']]).toEqual([what, follows ? 'next' : 'error']);
        if (!follows) expect(JSON.stringify(of()[0])).toContain('"code":"not_found"');
        const url = `${server.graphqlUrl}?${new URLSearchParams({ query })}&access_token=${token}`;
        const events = await openEvents(url);
        await eventually(() => events.text().includes('\n\n'));
        expect([what, events.text().includes('"not_found"')]).toEqual([what, !follows]);
        events.close();
      }
    const streams = [`/api/v1/jobs/${own['job']}/stream`, `/v1/responses/${own['response']}?stream=true`];
    for (const [at, path] of streams.entries()) {
      const mark = path.includes('?') ? '&' : '?';
      const events = await openEvents(`${server.origin}${path}${mark}access_token=${token}`);
      expect([path, events.status]).toEqual([path, kind === ['job', 'response'][at] ? 200 : 404]);
      events.close();
    }
    ws.socket.close();
  });
});

it('jobUpdates tells of the bound job alone', async () => {
  const slow = { key, body: { prompt: '@sandbox{"delay_ms":1500} a hill' } };
  const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', slow);
  const { token } = await makeToken(server, key, { scopes: ['usage'], job_id: job.id });
  const client = server.ws(token);
  const told: string[] = [];
  client.subscribe<{ jobUpdates: { job: { id: string }; type: string } }>(
    { query: 'subscription { jobUpdates { type job { id } } }' },
    {
      next: ({ data }) => void told.push(`${data?.jobUpdates.job.id} ${data?.jobUpdates.type}`),
      error: () => undefined,
      complete: () => undefined,
    },
  );
  await server.rest('POST', '/images/generations', { key, body: { prompt: 'another' } });
  await eventually(() => told.some((text) => text.endsWith('job.completed')));
  expect(new Set(told.map((text) => text.split(' ')[0]))).toEqual(new Set([job.id]));
  // From the beginning of all events on, too.
  const cursor = Buffer.from('0').toString('base64url');
  const query = `subscription { jobUpdates(after: "${cursor}") { type job { id } } }`;
  const past: string[] = [];
  for await (const { data } of server
    .ws(token)
    .iterate<{ jobUpdates: { job: { id: string }; type: string } }>({ query })) {
    past.push(data?.jobUpdates.job.id ?? '');
    if (data?.jobUpdates.type === 'job.completed') break;
  }
  expect(new Set(past)).toEqual(new Set([job.id]));
});

it('an Idempotency-Key is shared by tokens of one object, and by no other caller', async () => {
  const send = (credential: string) =>
    server.rest<{ id?: string }>('POST', `/agents/${own['agent']}/run`, {
      key: credential,
      body: { input: 'Hello' },
      headers: { 'idempotency-key': 'one and the same' },
    });
  const replayed = async (credential: string) => (await send(credential)).headers['idempotent-replayed'];
  const first = await bound('agent');
  expect(await replayed(first)).toBeUndefined();
  expect(await replayed(await bound('agent'))).toBe('true');
  expect(await replayed(key)).toBeUndefined();
});
