import type { MemberRole } from '../../src/contract/words.js';
import type { Installation, TestOrg } from '../support/installation.js';
import { cookieOf, PASSWORD, post } from '../support/people.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

/** One of everything that has an id, all of one organisation; ids by kind. */
export interface Things {
  owner: TestOrg;
  ids: Record<Kind, string>;
}

export type Kind =
  | 'job'
  | 'agent'
  | 'run'
  | 'file'
  | 'memory'
  | 'webhook'
  | 'delivery'
  | 'response'
  | 'key'
  | 'budget'
  | 'member'
  | 'record'
  | 'entry';

interface Made {
  agent: { id: string };
  webhook: { id: string };
  delivery: { id: string };
}

/** Makes them through the REST API. The webhook's host cannot exist, so that its delivery fails. */
export async function makeThings(server: SpawnedServer, installation: Installation): Promise<Things> {
  const owner = await installation.createOrg();
  const make = async (path: string, body: object) => {
    const answer = await server.rest<Made>('POST', path, { key: owner.key, body });
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const job = await make('/images/generations', { prompt: 'a lock', size: '512x512' });
  const agent = await make('/agents', {
    name: 'Keeper',
    system_prompt: 'You keep the lock.',
    memory_enabled: true,
  });
  const agentId = agent.body.agent.id;
  const run = await server.events('POST', `/agents/${agentId}/run`, {
    key: owner.key,
    body: { input: 'My name is Ada and I live in Turin.', user: 'ada' },
  });
  const { value: start } = await run.events.next();
  for await (const event of run.events) void event;
  const hook = await make('/webhooks', {
    name: 'hook',
    url: 'https://penstock.invalid/hook',
    events: ['generation.completed'],
  });
  const delivery = await make(`/webhooks/${hook.body.webhook.id}/test`, {});
  const { body: usage } = await server.rest<{ records: WithId[] }>('GET', '/usage/records', {
    key: owner.key,
  });
  const cookie = await signInOwner(server, installation, {
    orgId: owner.orgId,
    email: 'theirs-too@example.com',
  });
  return {
    owner,
    ids: {
      job: String(job.headers['x-job-id']),
      agent: agentId,
      file: await uploadFile(server, owner.key, agentId),
      memory: await memoryOf(server, owner.key, agentId),
      run: (JSON.parse(start?.data ?? '{}') as { run_id: string }).run_id,
      webhook: hook.body.webhook.id,
      delivery: delivery.body.delivery.id,
      response: await respond(server, owner.key),
      key: owner.keyId,
      budget: await budgetOf(installation, owner.orgId),
      member: await addMember(installation, {
        orgId: owner.orgId,
        email: 'theirs@example.com',
        role: 'member',
      }),
      record: usage.records[0]!.id,
      entry: await entryOf(server, cookie),
    },
  };
}

/** An entry of the audit log. */
async function entryOf(server: SpawnedServer, cookie: string): Promise<string> {
  const { data, errors } = await server.graphql<{ auditLog: { nodes: WithId[] } }>(
    '{ auditLog { nodes { id } } }',
    { headers: { cookie } },
  );
  const [entry] = data?.auditLog.nodes ?? [];
  if (!entry) throw new Error(`auditLog: ${JSON.stringify(errors)}`);
  return entry.id;
}

/** @returns its id */
async function budgetOf({ cli }: Installation, orgId: string): Promise<string> {
  const bounds = ['--unit', 'credits', '--limit', '100000', '--period', 'month', '--scope', 'organization'];
  return (await cli<{ id: string }>('budget', 'create', '--org', orgId, '--name', 'Month', ...bounds)).id;
}

/** @returns the person's id */
async function addMember(
  { cli }: Installation,
  { orgId, email, role }: { orgId: string; email: string; role: MemberRole },
): Promise<string> {
  const options = ['--org', orgId, '--email', email, '--role', role];
  return (await cli<{ userId: string }>('member', 'add', ...options)).userId;
}

/** Somebody who owns an organisation and is signed in. @returns their cookie */
export async function signInOwner(
  server: SpawnedServer,
  installation: Installation,
  { orgId, email }: { orgId: string; email: string },
): Promise<string> {
  await addMember(installation, { orgId, email, role: 'owner' });
  const { url } = await installation.cli<{ url: string }>('member', 'link', '--email', email);
  const token = url.split('#link=')[1];
  return cookieOf(await post(server, 'auth/password', { body: { token, password: PASSWORD } }));
}

interface WithId {
  id: string;
}

/** A knowledge file of the agent. */
async function uploadFile(server: SpawnedServer, key: string, agentId: string): Promise<string> {
  const upload =
    'mutation ($a: ID!, $i: UploadKnowledgeInput) { uploadKnowledgeFile(agentId: $a, input: $i) { id } }';
  const input = { filename: 'locks.txt', content: Buffer.from('A lock has two gates.').toString('base64') };
  const { data, errors } = await server.graphql<{ uploadKnowledgeFile: WithId }>(upload, {
    key,
    variables: { a: agentId, i: input },
  });
  if (!data) throw new Error(`uploadKnowledgeFile: ${JSON.stringify(errors)}`);
  return data.uploadKnowledgeFile.id;
}

/** A stored response. */
async function respond(server: SpawnedServer, key: string): Promise<string> {
  const { data, errors } = await server.graphql<{ createResponse: { object: WithId } }>(
    'mutation ($i: ModelResponseInput!) { createResponse(input: $i) { object } }',
    { key, variables: { i: { input: 'Open it' } } },
  );
  if (!data) throw new Error(`createResponse: ${JSON.stringify(errors)}`);
  return data.createResponse.object.id;
}

/** What the run left in the agent's memory. */
async function memoryOf(server: SpawnedServer, key: string, agentId: string): Promise<string> {
  return eventually(async () => {
    const { data, errors } = await server.graphql<{ agentMemories: { nodes: WithId[] } }>(
      'query ($a: ID!) { agentMemories(agentId: $a, user: "ada") { nodes { id } } }',
      { key, variables: { a: agentId } },
    );
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    return data?.agentMemories.nodes[0]?.id;
  });
}

/** An id of the same form that nothing has. */
export const unknownLike = (id: string): string => `${id.slice(0, -6)}zzzzzz`;

/** The kind that a placeholder of a REST path stands for. */
export function kindInPath(path: string, placeholder: string): Kind {
  const named = /^(job|run|delivery|agent|webhook|file)Id$/.exec(placeholder)?.[1];
  if (named !== undefined) return named as Kind;
  if (path.startsWith('/agents/')) return 'agent';
  if (path.startsWith('/webhooks/')) return 'webhook';
  if (path.startsWith('/responses/')) return 'response';
  throw new Error(`nothing to put for {${placeholder}} in ${path}: make one in makeThings`);
}

/** The kind that an argument of a GraphQL field stands for. */
export function kindInField(field: string, argument: string): Kind {
  const named = /^(job|run|delivery|agent|webhook|file)Id$/.exec(argument)?.[1];
  if (named !== undefined) return named as Kind;
  const kinds: [RegExp, Kind][] = [
    // Fields of operators name organisations too, and refuse everybody else whatever they name.
    [/ApiKey|[oO]perated/, 'key'],
    [/^node$/, 'job'],
    [/Member|SignInLink/, 'member'],
    [/AgentRun|agentRun/, 'run'],
    [/AgentMemory/, 'memory'],
    [/KnowledgeFile|knowledgeFile/, 'file'],
    [/Agent|agent/, 'agent'],
    [/Delivery/, 'delivery'],
    [/Webhook|webhook/, 'webhook'],
    [/Job|job/, 'job'],
    [/Response|response/, 'response'],
    [/Budget|budget/, 'budget'],
  ];
  const found = kinds.find(([pattern]) => pattern.test(field));
  if (found === undefined)
    throw new Error(`nothing to put for ${field}(${argument}:): make one in makeThings`);
  return found[1];
}
