import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.js';
import { PASSWORD, signIn } from '../support/people.js';
import type { Browser } from '../support/people.js';
import { buildPenstockSchema } from '../../schema/build.js';
import { startPenstock, type TestServer } from '../support/server.js';

/** What a proxy says of its client. */
const CLIENT = { 'x-forwarded-for': '203.0.113.9' };
const HOOK = 'https://hooks.example.com/services/T000/B000/very-secret-path';

interface Entry {
  actor: { kind: string; id: string | null; name: string | null };
  address: string | null;
  action: string;
  subject: { id: string | null; name: string | null };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

let server: TestServer;
let orgId: string;
let owner: Browser;

beforeAll(async () => {
  server = await startPenstock({ env: { TRUST_PROXY: 'loopback' } });
  orgId = (await server.createOrg({ name: 'Audited' })).orgId;
  owner = await signIn(server, { orgId, email: 'owner@audit.example', role: 'owner', hasPassword: true });
});
afterAll(() => server.close());

const FIELDS = 'actor { kind id name } address action subject { id name } before after';

async function entries(filter = '', who: Browser = owner): Promise<Entry[]> {
  const { data, error } = await who.graphql(
    `{ auditLog(first: 100${filter && `, filter: ${filter}`}) { nodes { ${FIELDS} } } }`,
  );
  if (error !== undefined) throw new Error(error);
  return (data!['auditLog'] as { nodes: Entry[] }).nodes;
}

/** All rows, the installation's own too, oldest first. */
const rows = () =>
  server.installation.sql<{
    org_id: string | null;
    action: string;
    actor_kind: string;
    address: string | null;
  }>('SELECT org_id, action, actor_kind, address FROM audit_log ORDER BY id');

const MUTATIONS = Object.keys(buildPenstockSchema().getMutationType()!.getFields());

/** In a company's graph some names carry a word of ours; here they stand without it. */
const plain = (field: string): string =>
  field === 'cancelPenstockPlan' ? 'cancelSubscription' : field.replace(/Penstock|Model(?!s)/, '');

/** @param document begins with a mutation's plain name @returns what the mutation answers */
async function mutate(document: string): Promise<unknown> {
  const named = document.replace(/^\w+/, (name) => MUTATIONS.find((field) => plain(field) === name) ?? name);
  const { data, error } = await owner.graphql(`mutation { ${named} }`, CLIENT);
  if (error !== undefined) throw new Error(`${document}: ${error}`);
  return Object.values(data!)[0];
}

/** What later mutations refer to. */
const made: Record<string, string> = {};

type Case = [mutation: string, document: () => string, action: string, keep?: (answer: never) => string];

/** Every mutation that changes what the log is about, each with the word that it leaves; they run in this order. */
const CASES: Case[] = [
  [
    'createApiKey',
    () => 'createApiKey(input: { name: "k", scopes: [chat] }) { apiKey { id } }',
    'key_created',
    (a: { apiKey: { id: string } }) => (made['key'] = a.apiKey.id),
  ],
  [
    'updateApiKey',
    () => `updateApiKey(id: "${made['key']}", input: { name: "renamed" }) { id }`,
    'key_updated',
  ],
  ['rotateApiKey', () => `rotateApiKey(id: "${made['key']}", overlapSeconds: 60) { key }`, 'key_rotated'],
  ['revokeApiKey', () => `revokeApiKey(id: "${made['key']}") { __typename }`, 'key_revoked'],
  [
    'addMember',
    () => 'addMember(input: { email: "new@audit.example" }) { member { userId } }',
    'member_added',
    (a: { member: { userId: string } }) => (made['person'] = a.member.userId),
  ],
  [
    'createSignInLink',
    () => `createSignInLink(userId: "${made['person']}") { expiresAt }`,
    'sign_in_link_created',
  ],
  [
    'changeMemberRole',
    () => `changeMemberRole(userId: "${made['person']}", role: admin) { role }`,
    'member_role_changed',
  ],
  ['removeMember', () => `removeMember(userId: "${made['person']}") { __typename }`, 'member_removed'],
  [
    'changePassword',
    () =>
      `changePassword(input: { currentPassword: "${PASSWORD}", newPassword: "${PASSWORD} 2" }) { __typename }`,
    'password_changed',
  ],
  [
    'createWebhook',
    () =>
      `createWebhook(input: { name: "w", url: "${HOOK}", events: ["credits.low"], customHeaders: { authorization: "Bearer hidden-token" } }) { id }`,
    'webhook_created',
    (a: { id: string }) => (made['webhook'] = a.id),
  ],
  [
    'updateWebhook',
    () => `updateWebhook(id: "${made['webhook']}", input: { url: "${HOOK}-2" }) { id }`,
    'webhook_updated',
  ],
  [
    'rotateWebhookSecret',
    () => `rotateWebhookSecret(id: "${made['webhook']}", input: { overlapSeconds: 0 }) { secret }`,
    'webhook_secret_rotated',
  ],
  [
    'recoverWebhook',
    () => `recoverWebhook(id: "${made['webhook']}", input: { since: "2026-01-01T00:00:00Z" }) { recovered }`,
    'webhook_recovered',
  ],
  ['deleteWebhook', () => `deleteWebhook(id: "${made['webhook']}") { __typename }`, 'webhook_deleted'],
  [
    'createBudget',
    () =>
      'createBudget(input: { name: "b", scope: organization, unit: usd, limit: "5", period: day }) { id }',
    'budget_created',
    (a: { id: string }) => (made['budget'] = a.id),
  ],
  [
    'updateBudget',
    () => `updateBudget(id: "${made['budget']}", input: { limit: "6" }) { id }`,
    'budget_updated',
  ],
  ['deleteBudget', () => `deleteBudget(id: "${made['budget']}") { id }`, 'budget_deleted'],
  [
    'updateAgent',
    () => `updateAgent(id: "${made['agent']}", input: { isPublic: true }) { id }`,
    'agent_published',
  ],
  ['deleteAgent', () => `deleteAgent(id: "${made['agent']}") { __typename }`, 'agent_unpublished'],
  ['cancelSubscription', () => 'cancelSubscription { id }', 'subscription_cancelled'],
];

/** They change nothing of what the log is about: what is generated, its inputs, tokens that last an hour at most, and single sends of a webhook. */
const OTHERS = [
  'createAgent',
  'duplicateAgent',
  'runAgent',
  'cancelAgentRun',
  'createUpload',
  'uploadKnowledgeFile',
  'deleteKnowledgeFile',
  'deleteAgentMemory',
  'createChatCompletion',
  'createEmbeddings',
  'editImage',
  'generateImage',
  'cancelJob',
  'createMessage',
  'createModeration',
  'generateMusic',
  'rerank',
  'createResponse',
  'startResponse',
  'deleteResponse',
  'cancelResponse',
  'cancelResponseByKey',
  'createSpeech',
  'createTranscription',
  'generateVideo',
  'createClientToken',
  'testWebhook',
  'retryWebhookDelivery',
];

/** Only operators call them: test/graphql/operator.test.ts shows what they leave. */
const OPERATORS = [
  'changeOperatedPlan',
  'topUpOperatedQuota',
  'revokeOperatedApiKey',
  'replayOperatedDeadLetters',
];

test('every mutation stands in this table, so that a new one of these nouns is thought of', () => {
  const named = new Set([...CASES.map(([mutation]) => mutation), ...OTHERS, ...OPERATORS]);
  expect(MUTATIONS.map(plain).filter((name) => !named.has(name))).toEqual([]);
});

test('every mutation of these nouns leaves who, from where and what, once', async () => {
  const created = await mutate('createAgent(input: { name: "a", systemPrompt: "p" }) { id }');
  made['agent'] = (created as { id: string }).id;
  for (const [mutation, document, action, keep] of CASES) {
    const before = await rows();
    const answer = await mutate(document());
    keep?.(answer as never);
    const added = (await rows()).slice(before.length);
    const mine = { org_id: orgId, action, actor_kind: 'person', address: '203.0.113.9' };
    // A person who is new gets a link with the membership.
    const link = mutation === 'addMember' ? [{ ...mine, action: 'sign_in_link_created' }] : [];
    expect(added, mutation).toEqual([mine, ...link]);
  }
});

test('entries have the fields that changed before and after, and no secret', async () => {
  const log = await entries();
  const of = (action: string) => log.find((entry) => entry.action === action)!;
  expect(of('key_updated')).toEqual({
    actor: { kind: 'person', id: owner.userId, name: 'owner@audit.example' },
    address: '203.0.113.9',
    action: 'key_updated',
    subject: { id: made['key'], name: 'renamed' },
    before: { name: 'k' },
    after: { name: 'renamed' },
  });
  expect(of('member_role_changed')).toMatchObject({
    subject: { id: made['person'], name: 'new@audit.example' },
    before: { role: 'member' },
    after: { role: 'admin' },
  });
  expect(of('webhook_created')).toMatchObject({
    before: null,
    after: { url: 'https://hooks.example.com/***', customHeaders: { authorization: '***' } },
  });
  const hidden = 'https://hooks.example.com/***';
  expect(of('webhook_updated')).toMatchObject({ before: { url: hidden }, after: { url: hidden } });
  expect(of('subscription_cancelled')).toMatchObject({
    before: { status: 'active', endsAt: null },
    after: { status: 'cancelled' },
  });
  const text = JSON.stringify(await server.installation.sql('SELECT * FROM audit_log'));
  expect(text).not.toMatch(/hidden-token|very-secret-path|sk_|whsec_|correct horse/);
});

test('a password that is set by a link is in the log of its person, and a refused change is not', async () => {
  expect(await entries('{ actions: [password_set] }')).toMatchObject([
    { actor: { kind: 'person', id: owner.userId }, address: '127.0.0.1', subject: { id: owner.userId } },
  ]);
  const before = await rows();
  await expect(mutate('removeMember(userId: "usr_nobody") { __typename }')).rejects.toThrow(
    'Member not found',
  );
  await expect(mutate(`removeMember(userId: "${owner.userId}") { __typename }`)).rejects.toThrow(
    'The last owner cannot be removed or changed',
  );
  // The same again changes nothing.
  await mutate(`revokeApiKey(id: "${made['key']}") { __typename }`);
  expect(await rows()).toEqual(before);
});

test('a key that changes a webhook or an agent over REST is named', async () => {
  const { key, keyId, orgId: other } = await server.createOrg();
  const body = { name: 'w', url: HOOK, events: ['credits.low'] };
  const hook = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', {
    key,
    body,
    headers: CLIENT,
  });
  await server.rest('DELETE', `/webhooks/${hook.body.webhook.id}`, { key });
  const admin = await signIn(server, { orgId: other, email: 'admin@rest.example', role: 'admin' });
  const actor = { kind: 'key', id: keyId, name: 'test' };
  expect(await entries(`{ actors: ["${keyId}"] }`, admin)).toMatchObject([
    { action: 'webhook_deleted', actor, address: '127.0.0.1', after: null },
    { action: 'webhook_created', actor, address: '203.0.113.9', before: null },
  ]);
});

/** Every command that changes something, with the words that it leaves. */
const COMMANDS: [command: string, given: () => string[], actions: string[]][] = [
  ['org create', () => ['--name', 'By cli', '--plan', 'pro_monthly'], ['organization_created']],
  ['org plan', () => ['--org', 'By cli', '--plan', 'business_monthly'], ['plan_changed']],
  ['org top-up', () => ['--org', 'By cli', '--bucket', 'credits', '--amount', '5'], ['quota_topped_up']],
  ['quota set', () => ['--org', 'By cli', '--bucket', 'credits', '--used', '3'], ['quota_set']],
  ['key create', () => ['--org', 'By cli', '--name', 'k', '--scopes', 'chat'], ['key_created']],
  ['key rotate', () => ['--id', made['cliKey']!], ['key_rotated']],
  ['key revoke', () => ['--id', made['cliKey']!], ['key_revoked']],
  ['member add', () => ['--org', 'By cli', '--email', 'm@cli.example'], ['member_added']],
  [
    'member role',
    () => ['--org', 'By cli', '--email', 'm@cli.example', '--role', 'admin'],
    ['member_role_changed'],
  ],
  ['member link', () => ['--email', 'm@cli.example'], ['sign_in_link_created']],
  ['member remove', () => ['--org', 'By cli', '--email', 'm@cli.example'], ['member_removed']],
  [
    'budget create',
    () => '--org|By cli|--name|b|--scope|organization|--unit|credits|--limit|5|--period|day'.split('|'),
    ['budget_created'],
  ],
  ['budget delete', () => ['--id', made['cliBudget']!], ['budget_deleted']],
  ['org cancel', () => ['--org', 'By cli'], ['subscription_cancelled']],
  ['usage rebuild', () => ['--org', 'By cli'], ['usage_rebuilt']],
  ['documents publish', () => [made['manifest']!], ['documents_published']],
  ['dead-letters replay', () => [], ['dead_letters_replayed']],
  ['operator add', () => ['--email', 'owner@audit.example'], ['operator_added']],
  ['operator remove', () => ['--email', 'owner@audit.example'], ['operator_removed']],
];

/** What belongs to no organisation. */
const INSTALLATIONS = ['documents publish', 'dead-letters replay', 'operator add', 'operator remove'];

/** They change nothing, or (migrations, topics) what no organisation and no database of a test has. */
const READING = [
  'org show',
  'org list',
  'key list',
  'budget list',
  'member list',
  'dead-letters list',
  'operator list',
  'doctor',
  'reconcile',
  'migrate',
  'topics create',
];

const leaves = (command: Command, path: string[]): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((child) => leaves(child, [...path, child.name()]));

test('every command stands in this table', () => {
  const named = new Set([...COMMANDS.map(([command]) => command), ...READING]);
  expect(leaves(createProgram(), []).filter((command) => !named.has(command))).toEqual([]);
});

test('every command that changes something leaves the operator, in the log of whom it concerns', async () => {
  await server.installation.sql(
    `INSERT INTO dead_letters (topic, key, consumer_group, event, error) VALUES ('events', $1, 'test', '{"id": "evt_1", "type": "credits.low"}', 'poison')`,
    [orgId],
  );
  made['manifest'] = join(server.installation.dataDir, 'manifest.json');
  await writeFile(made['manifest'], JSON.stringify({ version: '{ penstockVersion { api } }' }));
  for (const [command, given, actions] of COMMANDS) {
    const before = await rows();
    const answer = await server.cli<{ id: string }>(...command.split(' '), ...given());
    if (command === 'org create') made['cliOrg'] = answer.id;
    if (command === 'key create') made['cliKey'] = answer.id;
    if (command === 'budget create') made['cliBudget'] = answer.id;
    const added = (await rows()).slice(before.length);
    const whose = INSTALLATIONS.includes(command) ? null : made['cliOrg'];
    const operator = { org_id: whose, actor_kind: 'operator', address: 'cli' };
    expect(added, command).toEqual(actions.map((action) => ({ ...operator, action })));
  }
  const admin = await signIn(server, { orgId: made['cliOrg']!, email: 'o@cli.example', role: 'admin' });
  expect(
    await entries('{ actors: ["operator"], actions: [quota_set, quota_topped_up] }', admin),
  ).toMatchObject([
    { action: 'quota_set', subject: { id: 'credits' }, before: { used: 0 }, after: { used: 3 } },
    { action: 'quota_topped_up', before: { limit: 800 }, after: { limit: 805 } },
  ]);
  // A process for each command.
}, 180_000);

test('only owners and admins read the log, each that of their organisation, in pages and by filters', async () => {
  const member = await signIn(server, { orgId, email: 'member@audit.example', role: 'member' });
  const refused = await member.graphql('{ auditLog { nodes { id } } }');
  expect(refused.error).toBe('Role member may not do this');
  const { key, orgId: other } = await server.createOrg();
  const byKey = await server.graphql('{ auditLog { nodes { id } } }', { key });
  expect(byKey.errors[0]?.message).toBe('Sign in to do this');
  const stranger = await signIn(server, { orgId: other, email: 'stranger@audit.example', role: 'owner' });
  const theirs = await entries('', stranger);
  expect(theirs.map(({ action }) => action)).toEqual(['member_added', 'key_created', 'organization_created']);
  const all = await entries();
  const paged: Entry[] = [];
  for (let after = ''; ;) {
    const { data } = await owner.graphql(
      `{ auditLog(first: 7${after && `, after: "${after}"`}) { nodes { ${FIELDS} } nextCursor } }`,
    );
    const page = data!['auditLog'] as { nodes: Entry[]; nextCursor: string | null };
    paged.push(...page.nodes);
    if (page.nextCursor === null) break;
    after = page.nextCursor;
  }
  expect(paged).toEqual(all);
  expect(await entries(`{ subjects: ["${made['key']}"] }`)).toEqual(
    all.filter(({ subject }) => subject.id === made['key']),
  );
  expect(await entries('{ until: "2026-01-01T00:00:00Z" }')).toEqual([]);
  expect(await entries('{ since: "2026-01-01T00:00:00Z", actors: ["system"] }')).toEqual(
    all.filter(({ actor }) => actor.kind === 'system'),
  );
  const span = '{ since: "2026-02-01T00:00:00Z", until: "2026-01-01T00:00:00Z" }';
  await expect(entries(span)).rejects.toThrow('until must not be before since');
  const odd = await owner.graphql('{ auditLog(after: "x") { nodes { id } } }');
  expect(odd.error).toBe('Invalid cursor');
});

test('no role of the database may change or delete an entry', async () => {
  const { database } = server.services;
  for (const statement of [
    `UPDATE audit_log SET action = 'plan_changed'`,
    'DELETE FROM audit_log',
    'TRUNCATE audit_log',
  ]) {
    await expect(database.system.query(statement)).rejects.toThrow('permission denied');
    await expect(database.tenantQuery(orgId, statement)).rejects.toThrow('permission denied');
  }
  const seen = await database.tenantQuery<{ org_id: string }>(orgId, 'SELECT DISTINCT org_id FROM audit_log');
  expect(seen).toEqual([{ org_id: orgId }]);
});

test('what Penstock does by itself is recorded as its own', async () => {
  const [entry] = await entries('{ actions: [organization_created] }');
  expect(entry).toMatchObject({ actor: { kind: 'system', id: null, name: null }, address: null });
});
