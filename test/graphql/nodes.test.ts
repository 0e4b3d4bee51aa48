import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { makeToken } from '../support/client-tokens.js';
import { signIn, type Browser } from '../support/people.js';
import { eventually } from '../support/wait.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
let strangersKey: string;
let owner: Browser;
let stranger: Browser;
/** Types that no key may read. */
const PEOPLES = ['ApiKey', 'AuditEntry', 'PenstockMember'];
/** One object of each type. */
const ids: Record<string, string> = { Model: 'sandbox/chat-basic' };

beforeAll(async () => {
  server = await startPenstock();
  const org = await server.createOrg({ plan: 'business_monthly' });
  ({ key } = org);
  const strangers = await server.createOrg({ plan: 'business_monthly' });
  strangersKey = strangers.key;
  stranger = await signIn(server, { ...strangers, email: 'owner@strangers.example', role: 'owner' });
  ids['PenstockOrganization'] = org.orgId;
  ids['Agent'] = await makeAgent(server, key);
  ids['AgentRun'] = (await runAgent(server, key, ids['Agent'], { input: 'Hello' })).runId;
  const image = { key, body: { prompt: 'a hill' } };
  ids['Job'] = (await server.rest<{ id: string }>('POST', '/images/generations?async=true', image)).body.id;
  const { data } = await server.graphql<{ createResponse: { id: string } }>(
    'mutation { createResponse(input: { input: "Hello", maxOutputTokens: 5 }) { id } }',
    { key },
  );
  ids['ModelResponse'] = data!.createResponse.id;
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['credits.low'] };
  const made = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', { key, body: hook });
  ids['Webhook'] = made.body.webhook.id;
  ids['ApiKey'] = org.keyId;
  owner = await signIn(server, { orgId: org.orgId, email: 'owner@nodes.example', role: 'owner' });
  const budget = await owner.graphql(
    'mutation { createBudget(input: { name: "b", scope: tag, subject: "*", unit: usd, limit: "5", period: day }) { id } }',
  );
  ids['Budget'] = (budget.data!['createBudget'] as { id: string }).id;
  Object.assign(ids, await furtherIds(ids['Agent'], ids['Webhook']));
});
afterAll(() => server?.close());

interface Ids {
  nodes: { id: string }[];
}

/** Of what an agent knows, what a webhook sends, and what the organisation's people see. */
async function furtherIds(agent: string, webhook: string): Promise<Record<string, string>> {
  const input = { filename: 'locks.txt', content: Buffer.from('A lock has two gates.').toString('base64') };
  const made = await server.graphql<Record<string, { id: string }>>(
    `mutation ($a: ID!, $w: ID!, $i: UploadKnowledgeInput) {
      file: uploadKnowledgeFile(agentId: $a, input: $i) { id } delivery: testWebhook(id: $w) { id } }`,
    { key, variables: { a: agent, w: webhook, i: input } },
  );
  expect(made.errors).toEqual([]);
  await server.graphql('mutation ($a: ID!) { updateAgent(id: $a, input: { memoryEnabled: true }) { id } }', {
    key,
    variables: { a: agent },
  });
  await runAgent(server, key, agent, { input: 'My name is Ada and I live in Turin.' });
  const memory = await eventually(async () => {
    const text = `{ agentMemories(agentId: "${agent}") { nodes { id } } }`;
    return (await server.graphql<{ agentMemories: Ids }>(text, { key })).data?.agentMemories.nodes[0]?.id;
  });
  const records = await server.graphql<{ usageRecords: Ids }>('{ usageRecords { nodes { id } } }', { key });
  const { data } = await owner.graphql('{ auditLog { nodes { id } } penstockMembers { nodes { id } } }');
  const [entries, members] = [data!['auditLog'] as Ids, data!['penstockMembers'] as Ids];
  return {
    KnowledgeFile: made.data!['file']!.id,
    WebhookDelivery: made.data!['delivery']!.id,
    AgentMemory: memory,
    UsageRecord: records.data!.usageRecords.nodes[0]!.id,
    AuditEntry: entries.nodes[0]!.id,
    PenstockMember: members.nodes[0]!.id,
  };
}

/** As {@link node}, of somebody who is signed in. */
async function peoplesNode(id: string, who: Browser): Promise<unknown> {
  const { data, error } = await who.graphql(`{ node(id: "${id}") { __typename id } }`);
  expect(error).toBeUndefined();
  return data!['node'];
}

async function node(id: string, as = key): Promise<{ __typename: string; id: string } | null> {
  const { data, errors } = await server.graphql<{ node: { __typename: string; id: string } | null }>(
    'query ($id: ID!) { node(id: $id) { __typename id } }',
    { key: as, variables: { id } },
  );
  expect(errors).toEqual([]);
  return data!.node;
}

describe('node', () => {
  it('finds an object of every type that is a Node, and to other organisations it is as one that does not exist', async () => {
    const { data } = await server.graphql<{ __type: { possibleTypes: { name: string }[] } }>(
      '{ __type(name: "Node") { possibleTypes { name } } }',
      { key },
    );
    expect(data!.__type.possibleTypes.map(({ name }) => name).sort()).toEqual(Object.keys(ids).sort());
    for (const [type, id] of Object.entries(ids)) {
      const isPeoples = PEOPLES.includes(type);
      expect(isPeoples ? await peoplesNode(id, owner) : await node(id), type).toEqual({
        __typename: type,
        id,
      });
      const seen = isPeoples ? await peoplesNode(id, stranger) : await node(id, strangersKey);
      expect(seen, type).toEqual(type === 'Model' ? { __typename: type, id } : null);
    }
    for (const id of [
      '',
      'job_',
      'nothing',
      `job_${'0'.repeat(26)}`,
      'a/b',
      'constructor_x',
      'x'.repeat(100_000),
    ])
      expect(await node(id)).toBeNull();
  });

  it('finds with a client token its object alone', async () => {
    for (const [type, member] of Object.entries({
      Job: 'job_id',
      AgentRun: 'run_id',
      ModelResponse: 'response_id',
    })) {
      const { token } = await makeToken(server, key, {
        scopes: ['usage', 'agents', 'chat'],
        [member]: ids[type],
      });
      const reached = [type, 'Model'];
      for (const other of [
        'Job',
        'AgentRun',
        'ModelResponse',
        'Agent',
        'Budget',
        'KnowledgeFile',
        'AgentMemory',
        'UsageRecord',
        'PenstockOrganization',
        'Model',
      ])
        expect(await node(ids[other]!, token), `${type} ${other}`).toEqual(
          reached.includes(other) ? { __typename: other, id: ids[other] } : null,
        );
    }
  });

  it('is for people where the query of its type is', async () => {
    for (const type of PEOPLES)
      for (const id of [ids[type]!, ids[type]!.slice(0, -6) + 'zzzzzz']) {
        const { data, errors } = await server.graphql(`{ node(id: "${id}") { id } }`, { key });
        expect([data, errors[0]?.message], id).toEqual([{ node: null }, 'Sign in to do this']);
      }
    const viewer = await signIn(server, {
      orgId: ids['PenstockOrganization']!,
      email: 'viewer@nodes.example',
      role: 'viewer',
    });
    expect(await peoplesNode(ids['PenstockMember']!, viewer)).toMatchObject({ id: ids['PenstockMember'] });
    const { error } = await viewer.graphql(`{ node(id: "${ids['ApiKey']}") { id } }`);
    expect(error).toBe('Role viewer may not do this');
  });

  it("names a member of each organisation by another id, and finds a person's membership of its own alone", async () => {
    const { userId } = owner;
    const { orgId } = await server.createOrg();
    const other = await signIn(server, { orgId, email: 'second@nodes.example', role: 'owner' });
    await other.graphql(
      'mutation { addPenstockMember(input: { email: "owner@nodes.example", role: viewer }) { member { id } } }',
    );
    const idIn = async (who: Browser): Promise<string> => {
      const { data } = await who.graphql('{ penstockMembers { nodes { id userId } } }');
      const { nodes } = data!['penstockMembers'] as { nodes: { id: string; userId: string }[] };
      return nodes.find((member) => member.userId === userId)!.id;
    };
    const [here, there] = [await idIn(owner), await idIn(other)];
    expect(here).not.toBe(there);
    expect(await peoplesNode(there, owner)).toBeNull();
    expect(await peoplesNode(here, other)).toBeNull();
  });

  it('needs the scope that the query of its type needs', async () => {
    const { token } = await makeToken(server, key, { scopes: ['chat'] });
    const { data, errors } = await server.graphql(
      `{ job: node(id: "${ids['Job']}") { id } model: node(id: "${ids['Model']}") { id } }`,
      { key: token },
    );
    expect(data).toEqual({ job: null, model: { id: ids['Model'] } });
    expect(errors).toMatchObject([{ path: ['job'], extensions: { code: 'forbidden', httpStatus: 403 } }]);
  });

  it('does not stand in the SDL that supergraphs are composed from', async () => {
    const { data } = await server.graphql<{ _service: { sdl: string } }>('{ _service { sdl } }', { key });
    expect(data!._service.sdl).not.toMatch(/\bNode\b|\bnode\(/);
  });
});

it('a page of records reads what all of them refer to in one look-up of each kind', async () => {
  const many = [
    vi.spyOn(server.services.keys, 'namesOf'),
    vi.spyOn(server.services.jobs, 'getMany'),
    vi.spyOn(server.services.agentRuns, 'getMany'),
    vi.spyOn(server.services.responses, 'texts'),
  ];
  const { data, errors } = await server.graphql<{ usageRecords: { nodes: object[] } }>(
    `{ usageRecords(first: 50) { nodes { modelId model { id tier } answeredModelId answeredModel { id } key { id } job { id key { id } }
      run { id agent { id } } response { id modelId model { id } } } } }`,
    { key },
  );
  expect(errors).toEqual([]);
  const model = { id: 'sandbox/chat-basic' };
  const { id } = model;
  expect(data!.usageRecords.nodes).toContainEqual(
    expect.objectContaining({
      modelId: id,
      model: { id, tier: 'basic' },
      answeredModelId: id,
      answeredModel: model,
      response: { id: ids['ModelResponse'], modelId: id, model },
    }),
  );
  // The keys of the records are read before their jobs are there, those of the jobs after.
  expect(many.map(({ mock }) => mock.calls.length)).toEqual([2, 1, 1, 1]);
});
