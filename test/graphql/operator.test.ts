import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPenstockSchema } from '../../schema/index.js';
import { createOperatorRegistry } from '../../src/access/index.js';
import { makeToken } from '../support/client-tokens.js';
import { browserOf, post, signIn, type Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';

const ORGANIZATION =
  'id name planCode entitled createdAt periodEnd members keys quotas { bucket limit used }';

/** Every root field that only operators may use, as it is asked for. */
const FIELDS: Record<string, string> = {
  operatedOrganizations: '{ operatedOrganizations { nodes { id } } }',
  operatedOrganization: '{ operatedOrganization(id: "ORG") { id } }',
  operatedApiKeys: '{ operatedApiKeys(organizationId: "ORG") { nodes { id } } }',
  operatedProviders: '{ operatedProviders { id } }',
  operatedQueues: '{ operatedQueues { count } }',
  operatedDeadLetters: '{ operatedDeadLetters { id } }',
  operatedUsage: '{ operatedUsage { costUsd } }',
  changeOperatedPlan: 'mutation { changeOperatedPlan(organizationId: "ORG", planCode: cli_team) { id } }',
  topUpOperatedQuota:
    'mutation { topUpOperatedQuota(organizationId: "ORG", bucket: credits, amount: 5) { id } }',
  revokeOperatedApiKey: 'mutation { revokeOperatedApiKey(organizationId: "ORG", id: "KEY") { id } }',
  replayOperatedDeadLetters: 'mutation { replayOperatedDeadLetters { replayed } }',
};

let server: TestServer;
let home: Awaited<ReturnType<TestServer['createOrg']>>;
let other: Awaited<ReturnType<TestServer['createOrg']>>;
let operator: Browser;
beforeAll(async () => {
  server = await startPenstock();
  home = await server.createOrg({ name: 'The house', plan: 'business_monthly' });
  other = await server.createOrg({ name: '100% Mills', plan: 'pro_monthly' });
  operator = await signIn(server, { orgId: home.orgId, email: 'op@example.com', role: 'viewer' });
  const named = await server.cli('operator', 'add', '--email', 'Op@example.com');
  expect(named).toMatchObject({ userId: operator.userId, email: 'op@example.com' });
});
afterAll(() => server?.close());

const asked = (document: string): string =>
  document.replace('"ORG"', `"${other.orgId}"`).replace('"KEY"', `"${other.keyId}"`);

/** What an operator's document answers. */
async function done<Data>(document: string): Promise<Data> {
  const { data, error } = await operator.graphql(document);
  expect(error).toBeUndefined();
  return data as Data;
}

describe('the fields of operators', () => {
  const schema = buildPenstockSchema();
  const roots = [schema.getQueryType()!, schema.getMutationType()!];
  const guarded = roots.flatMap((type) =>
    Object.values(type.getFields()).filter(({ extensions }) =>
      Boolean((extensions['penstock'] as { operator?: true } | undefined)?.operator),
    ),
  );

  it('are those of this test, and carry the tag "admin"', () => {
    expect(guarded.map(({ name }) => name).sort()).toEqual(Object.keys(FIELDS).sort());
    for (const { extensions } of guarded)
      expect(extensions['directives']).toMatchObject({ tag: { name: 'admin' } });
  });

  it('are refused as forbidden for owners, keys and client tokens, over HTTP, event streams and WebSocket', async () => {
    const owner = await signIn(server, { orgId: other.orgId, email: 'owner@example.com', role: 'owner' });
    const { token } = await makeToken(server, home.key, { scopes: ['usage'], ttl_seconds: 60 });
    for (const [name, document] of Object.entries(FIELDS)) {
      const query = asked(document);
      for (const credentials of [
        { cookie: owner.cookie },
        { headers: { authorization: `Bearer ${other.key}` } },
        { headers: { authorization: `Bearer ${token}` } },
      ]) {
        const { body } = await post(server, 'graphql', { body: { query }, ...credentials });
        expect(body, name).toMatchObject({
          data: { [name]: null },
          errors: [{ extensions: { code: 'forbidden', httpStatus: 403 } }],
        });
        const stream = await fetch(server.graphqlUrl, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'text/event-stream',
            ...('cookie' in credentials ? { cookie: credentials.cookie } : credentials.headers),
          },
          body: JSON.stringify({ query }),
        });
        expect(await stream.text(), name).toContain('"code":"forbidden"');
      }
      const socket = owner.ws();
      const answers = socket.iterate({ query });
      expect(JSON.stringify((await answers.next()).value), name).toContain('"code":"forbidden"');
      await socket.dispose();
    }
    const untouched = await done<{ operatedOrganization: object }>(
      `{ operatedOrganization(id: "${other.orgId}") { planCode keys } }`,
    );
    expect(untouched.operatedOrganization).toEqual({ planCode: 'pro_monthly', keys: 1 });
  });

  it('are refused for a session that only an organisation vouches for, though its person is named as an operator', async () => {
    const { team, people, database } = server.services;
    const email = 'taken@example.com';
    const owner = await server.services.authenticator.authenticate(undefined, {
      token: (await people.signInVerified('owner@example.com')).token,
      orgId: other.orgId,
    });
    const { link } = await team.add(owner, { email, role: 'member' });
    expect(link).not.toBeNull();
    const signedIn = await people.setPassword(link!.token, 'a password of the organisation');
    const browser = browserOf(server, {
      email,
      userId: signedIn.user.id,
      cookie: `penstock_session=${signedIn.token}`,
    });
    await database.system.query('INSERT INTO operators (user_id) VALUES ($1)', [signedIn.user.id]);
    expect((await browser.graphql(FIELDS['operatedQueues']!)).error).toBe('Only operators may do this');
    await createOperatorRegistry(server.services).remove(email);
    // Named by the command line, the address is proven: what the organisation made ends.
    await createOperatorRegistry(server.services).add(email);
    expect((await browser.graphql('{ penstockVersion { api } }')).status).toBe(401);
    await createOperatorRegistry(server.services).remove(email);
  });
});

describe('operators', () => {
  it('find organisations by name, id and a member, page by page, with quota and usage', async () => {
    await server.rest('POST', '/chat/completions', {
      key: other.key,
      body: { messages: [{ role: 'user', content: 'Hello' }] },
    });
    await server.services.usage.rebuild(other.orgId);
    const found = async (args: string) =>
      (
        await done<{ operatedOrganizations: { nodes: { id: string }[] } }>(
          `{ operatedOrganizations(${args}) { nodes { id } } }`,
        )
      ).operatedOrganizations.nodes.map(({ id }) => id);
    expect(await found('search: "0% mi"')).toEqual([other.orgId]);
    expect(await found('search: "%"')).toEqual([other.orgId]);
    expect(await found(`search: "${home.orgId}"`)).toEqual([home.orgId]);
    expect(await found('search: "OP@example.com"')).toEqual([home.orgId]);
    expect(await found('planCode: free, search: "mills"')).toEqual([]);
    const [first] = await found('first: 1');
    const [second] = await found(`first: 1, after: "${first}"`);
    expect([first, second]).toEqual([other.orgId, home.orgId]);
    const { operatedOrganization: shown } = await done<{
      operatedOrganization: {
        quotas: { bucket: string; limit: number; used: number }[];
        usage: { requests: number };
      };
    }>(
      `{ operatedOrganization(id: "${other.orgId}") { ${ORGANIZATION} usage { requests costUsd errors } } }`,
    );
    const quota = await server.services.metering.quota(other.orgId);
    expect(shown.quotas).toEqual(quota.quotas.map(({ bucket, limit, used }) => ({ bucket, limit, used })));
    expect(shown).toMatchObject({
      name: '100% Mills',
      planCode: 'pro_monthly',
      keys: 1,
      usage: { requests: 1 },
    });
  });

  it('change plans, top up and revoke keys, each recorded in the organisation’s audit log as an operator’s', async () => {
    const { createOrg } = server;
    const third = await createOrg({ name: 'Third', plan: 'free' });
    await done(
      `mutation { changeOperatedPlan(organizationId: "${third.orgId}", planCode: cli_team) { id } }`,
    );
    const { topUpOperatedQuota: topped } = await done<{ topUpOperatedQuota: { planCode: string } }>(
      `mutation { topUpOperatedQuota(organizationId: "${third.orgId}", bucket: video_seconds, amount: 12.5) { planCode } }`,
    );
    expect(topped.planCode).toBe('cli_team');
    const { operatedApiKeys } = await done<{ operatedApiKeys: { nodes: { id: string; revokedAt: null }[] } }>(
      `{ operatedApiKeys(organizationId: "${third.orgId}") { nodes { id revokedAt } } }`,
    );
    expect(operatedApiKeys.nodes).toEqual([{ id: third.keyId, revokedAt: null }]);
    const wrong = await operator.graphql(
      `mutation { revokeOperatedApiKey(organizationId: "${home.orgId}", id: "${third.keyId}") { id } }`,
    );
    expect(wrong.error).toBe('API key not found');
    await done(
      `mutation { revokeOperatedApiKey(organizationId: "${third.orgId}", id: "${third.keyId}") { id revokedAt } }`,
    );
    expect((await server.rest('GET', '/quota', { key: third.key })).status).toBe(401);
    const { nodes } = await server.services.audit.list(third.orgId, { filter: {}, first: 10 });
    const actor = { kind: 'operator', id: operator.userId, name: 'op@example.com' };
    expect(
      nodes.filter(({ actor: { kind, id } }) => kind === 'operator' && id !== null).map((entry) => entry),
    ).toMatchObject([
      { action: 'key_revoked', actor },
      { action: 'quota_topped_up', actor, subject: { id: 'video_seconds' } },
      { action: 'plan_changed', actor, after: { plan: 'cli_team' } },
    ]);
  });

  it('see usage over all organisations with its cost, providers, queues and dead letters, and replay these', async () => {
    const { database } = server.services;
    await server.rest('POST', '/chat/completions', {
      key: home.key,
      body: { messages: [{ role: 'user', content: 'Hello' }] },
    });
    await server.services.usage.rebuild(home.orgId);
    const { operatedUsage } = await done<{
      operatedUsage: { organizationId: string; model: string; requests: number }[];
    }>(
      '{ operatedUsage(groupBy: [organization, model]) { organizationId model provider requests costUsd } }',
    );
    expect(operatedUsage).toEqual(
      expect.arrayContaining(
        [home, other].map(({ orgId }) =>
          expect.objectContaining({ organizationId: orgId, provider: null, requests: 1 }),
        ),
      ),
    );
    const { operatedUsage: whole } = await done<{ operatedUsage: { requests: number }[] }>(
      '{ operatedUsage { requests } }',
    );
    expect(whole).toEqual([{ requests: operatedUsage.reduce((sum, { requests }) => sum + requests, 0) }]);
    const { operatedProviders } = await done<{ operatedProviders: object[] }>(
      '{ operatedProviders { id ok models lastHour { requests errors } } }',
    );
    expect(operatedProviders).toEqual([
      expect.objectContaining({ id: 'sandbox', ok: true, lastHour: { requests: 2, errors: 0 } }),
    ]);
    await database.system.query(
      `INSERT INTO dead_letters (topic, key, consumer_group, event, error) VALUES ('events', 'k', 'g', '{"id":"evt_1","type":"x"}', 'poison')`,
    );
    const letters = await done<{
      operatedDeadLetters: { id: string; error: string }[];
      operatedQueues: object[];
    }>('{ operatedDeadLetters { id error event } operatedQueues { queue status count oldestSeconds } }');
    expect(letters.operatedQueues).toContainEqual(
      expect.objectContaining({ queue: 'dead_letters', status: 'failed', count: 1 }),
    );
    const [letter] = letters.operatedDeadLetters;
    expect(letter).toMatchObject({ error: 'poison', event: { id: 'evt_1' } });
    const again = `mutation { replayOperatedDeadLetters(id: "${letter!.id}") { replayed deadLetters { id error event } } }`;
    expect(await done(again)).toEqual({
      replayOperatedDeadLetters: { replayed: 1, deadLetters: [letter] },
    });
    expect((await operator.graphql(again)).error).toBe('Dead letter not found');
  });

  it('who is removed is refused at the next call, and the roll says who there is', async () => {
    const roll = createOperatorRegistry(server.services);
    expect((await roll.list()).map(({ email }) => email)).toEqual(['op@example.com']);
    expect((await done<{ caller: object }>('{ caller { person { isOperator } } }')).caller).toEqual({
      person: { isOperator: true },
    });
    await roll.remove('op@example.com');
    expect((await operator.graphql(FIELDS['operatedQueues']!)).error).toBe('Only operators may do this');
    await expect(roll.remove('op@example.com')).rejects.toThrow('Operator not found');
    await expect(roll.add('nobody@example.com')).rejects.toThrow('Person not found');
  });
});
