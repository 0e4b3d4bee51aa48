import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeToken, openEvents } from '../support/client-tokens.js';
import { post, signIn } from '../support/people.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let orgId: string;
let key: string;
let keyId: string;

beforeAll(async () => {
  server = await startPenstock({
    plans: { plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } } },
  });
  ({ orgId, key, keyId } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

const messages = [{ role: 'user', content: 'Hello' }];
const chat = (credential: string, body: object = {}) =>
  server.rest<Record<string, unknown>>('POST', '/chat/completions', {
    key: credential,
    body: { messages, max_tokens: 5, ...body },
  });
const refuse = (body: unknown, credential = key) =>
  server.rest('POST', '/client-tokens', { key: credential, body });

const MAKE =
  'mutation ($input: CreateClientTokenInput!) { createClientToken(input: $input) { token clientToken { id scopes expiresAt } } }';

describe('a client token', () => {
  it('is made by a key with the scope tokens, and does what its scopes allow', async () => {
    const { token, client_token: made } = await makeToken(server, key, { scopes: ['chat'], ttl_seconds: 60 });
    expect(token).toMatch(/^ct_[0-9a-f]{64}$/);
    expect(made).toMatchObject({ id: expect.stringMatching(/^ctk_/), scopes: ['chat'] });
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThanOrEqual(61_000);
    expect((await chat(token)).status).toBe(200);
    expect(await server.rest('GET', '/quota', { key: token })).toMatchObject({
      status: 403,
      body: { error: 'API key does not have required scope: usage' },
    });
    const v1 = await server.raw('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/chat-basic', messages, max_tokens: 5 }),
    });
    expect(v1.statusCode).toBe(200);
    await v1.body.dump();
    const rows = await server.installation.sql<{ hash: Buffer }>(
      'SELECT hash FROM client_tokens WHERE id = $1',
      [made.id],
    );
    expect(rows[0]?.hash.toString('hex')).not.toContain(token.slice(3, 20));
  });

  it('is made over GraphQL and by people who may change something', async () => {
    const { data } = await server.graphql<{ createClientToken: { token: string } }>(MAKE, {
      key,
      variables: { input: { scopes: ['usage'] } },
    });
    const viewing = await server.graphql('{ quota { orgId } }', { key: data?.createClientToken.token ?? '' });
    expect(viewing.data).toEqual({ quota: { orgId } });
    for (const role of ['owner', 'admin', 'member', 'viewer'] as const) {
      const person = await signIn(server, { orgId, email: `${role}@tokens.example`, role });
      const body = { query: MAKE, variables: { input: { scopes: ['chat'] } } };
      const answer = await post(server, 'graphql', { body, cookie: person.cookie });
      expect([role, JSON.stringify(answer.body).includes('ct_')]).toEqual([role, role !== 'viewer']);
    }
  });

  it('has a part of the scopes of its maker, and never tokens or webhooks', async () => {
    const { key: narrow } = await server.createKey(orgId, { scopes: ['chat', 'tokens'] });
    const { key: without } = await server.createKey(orgId, { scopes: ['chat'] });
    expect(await refuse({ scopes: ['chat'] }, without)).toMatchObject({ status: 403 });
    for (const [credential, scopes] of [
      [narrow, ['usage']],
      [narrow, ['chat', 'tokens']],
      [key, ['webhooks']],
      [key, []],
      [key, ['nothing']],
      [key, 'chat'],
    ] as const)
      expect(await refuse({ scopes }, credential)).toMatchObject({ status: 400, body: { param: 'scopes' } });
    const { token } = await makeToken(server, narrow, { scopes: ['chat'] });
    expect(await refuse({ scopes: ['chat'] }, token)).toMatchObject({ status: 403 });
  });

  it('is refused where its fields are not what they must be', async () => {
    const scopes = ['chat'];
    for (const [param, body] of [
      ['ttl_seconds', { ttl_seconds: '60' }],
      ['ttlSeconds', { ttl_seconds: 0 }],
      ['ttlSeconds', { ttl_seconds: 3601 }],
      ['ttlSeconds', { ttl_seconds: 1.5 }],
      ['end_user', { end_user: 7 }],
      ['endUser', { end_user: ' ' }],
      ['endUser', { end_user: 'x'.repeat(257) }],
      ['tags', { tags: ['a b'] }],
      ['tags', { tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }],
      ['rate', { rate: { rpm: 0, burst: 1 } }],
      ['rate', { rate: { rpm: 100_001, burst: 1 } }],
      ['rate', { rate: 7 }],
      ['rate', { rate: { rpm: 1, burst: 1, x: 1 } }],
      ['run_id', { job_id: 'job_1', run_id: 'run_1' }],
      ['job_id', { job_id: 7 }],
      ['other', { other: 1 }],
    ] as const)
      expect([param, await refuse({ scopes, ...body })]).toEqual([
        param,
        expect.objectContaining({ status: 400, body: expect.objectContaining({ param }) }),
      ]);
    for (const name of ['job_id', 'run_id', 'response_id', 'agent_id'])
      for (const id of ['unknown', '../x', 'job_01jd0000000000000000000000'])
        expect([name, (await refuse({ scopes, [name]: id })).status]).toEqual([name, 404]);
  });

  it('is made although unknown fields say null, and refused where they say something', async () => {
    const more = async (nothing: unknown) => (await refuse({ scopes: ['chat'], nothing })).status;
    expect([await more(null), await more(1)]).toEqual([200, 400]);
  });

  it('stamps its end user and its tags on what it does, over what the body says', async () => {
    const { token } = await makeToken(server, key, { scopes: ['chat'], end_user: 'ada', tags: ['app'] });
    const { metering } = server.services;
    const admit = metering.admit.bind(metering);
    const seen: unknown[] = [];
    metering.admit = (request) => {
      if (request.operation !== undefined) seen.push(request.attribution);
      return admit(request);
    };
    const body = { messages, max_tokens: 5, user: 'eve' };
    const headers = { 'x-tags': 'own' };
    await server.rest('POST', '/chat/completions', { key: token, body, headers });
    metering.admit = admit;
    expect(seen).toEqual([{ endUser: 'ada', tags: ['app', 'own'] }]);
    const { key: fixed } = await stampedKey();
    expect(await refuse({ scopes: ['chat'], end_user: 'eve' }, fixed)).toMatchObject({
      status: 400,
      body: { param: 'endUser' },
    });
  });

  it('has a window of its own inside that of its maker', async () => {
    const rate = { rpm: 2, burst: 2 };
    const { token } = await makeToken(server, key, { scopes: ['chat'], rate });
    const first = await server.rest('GET', '/models', { key: token });
    expect(first).toMatchObject({
      status: 200,
      headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' },
    });
    const all = await Promise.all(
      Array.from({ length: 5 }, () => server.rest('GET', '/models', { key: token })),
    );
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 429, 429, 429, 429]);
    // Its maker's window is taken too, and is shared by all of its tokens.
    const small = await createKey({ rate: { rpm: 3, burst: 3 } });
    const [a, b] = [
      await makeToken(server, small, { scopes: ['chat'] }),
      await makeToken(server, small, { scopes: ['chat'] }),
    ];
    expect((await server.rest('GET', '/models', { key: a.token })).status).toBe(200);
    expect((await server.rest('GET', '/models', { key: b.token })).status).toBe(429);
  });
});

async function createKey(input: object): Promise<string> {
  const owner = await signIn(server, { orgId, email: `o${Math.random()}@tokens.example`, role: 'owner' });
  const query = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }';
  const variables = { input: { name: 'k', scopes: ['chat', 'tokens'], ...input } };
  const { body } = await post(server, 'graphql', { body: { query, variables }, cookie: owner.cookie });
  return (body.data as { createApiKey: { key: string } }).createApiKey.key;
}

async function stampedKey(): Promise<{ key: string }> {
  return { key: await createKey({ endUser: 'ada' }) };
}

const WATCH = `/graphql?${new URLSearchParams({ query: 'subscription { jobUpdates { type } }' })}`;

/** What a token holds open: a socket, and event streams by header and by address. */
async function holdOpen(token: string) {
  const ws = await openRawWebSocket(server.wsUrl);
  ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  await ws.next('connection_ack');
  const byAddress = await openRawWebSocket(`${server.wsUrl}?access_token=${token}`);
  byAddress.send({ type: 'connection_init' });
  await byAddress.next('connection_ack');
  const events = await openEvents(`${server.origin}${WATCH}&access_token=${token}`);
  expect(events.status).toBe(200);
  return { ws, byAddress, events };
}

async function areClosed({ ws, byAddress, events }: Awaited<ReturnType<typeof holdOpen>>): Promise<void> {
  expect((await ws.closed).code).toBe(4401);
  expect((await byAddress.closed).code).toBe(4401);
  await events.ended;
}

describe('a client token ends', () => {
  it('when its time is over, and its open streams with it', async () => {
    const { token } = await makeToken(server, key, { scopes: ['usage'], ttl_seconds: 1 });
    const held = await holdOpen(token);
    await areClosed(held);
    expect(await server.rest('GET', '/quota', { key: token })).toMatchObject({
      status: 401,
      body: { error: 'Client token has expired' },
    });
  });

  it('with the key that made it: revoked, or given another text at once', async () => {
    for (const end of [
      (id: string) => server.services.keys.revoke(id),
      (id: string) => server.services.keys.rotate(id, 0),
    ]) {
      const maker = await server.createKey(orgId, { scopes: ['usage', 'tokens'] });
      const { token } = await makeToken(server, maker.key, { scopes: ['usage'] });
      const held = await holdOpen(token);
      await end(maker.id);
      await areClosed(held);
      await eventually(async () => (await server.rest('GET', '/quota', { key: token })).status === 401);
    }
  });

  it('never later than its maker, and with less scope where its maker has less', async () => {
    const expires = new Date(Date.now() + 60_000);
    const maker = await server.createKey(orgId, { scopes: ['usage', 'chat', 'tokens'], expires });
    const { token, client_token: made } = await makeToken(server, maker.key, {
      scopes: ['usage', 'chat'],
      ttl_seconds: 3600,
    });
    expect(new Date(made.expires_at)).toEqual(expires);
    await server.services.keys.update(maker.id, orgId, { scopes: ['chat', 'tokens'] });
    await eventually(async () => (await server.rest('GET', '/quota', { key: token })).status === 403);
    expect((await chat(token)).status).toBe(200);
  });

  it('with the session that made it', async () => {
    const person = await signIn(server, { orgId, email: 'leaving@tokens.example', role: 'admin' });
    const body = { query: MAKE, variables: { input: { scopes: ['usage'] } } };
    const answer = await post(server, 'graphql', { body, cookie: person.cookie });
    const { token } = (answer.body.data as { createClientToken: { token: string } }).createClientToken;
    expect(await server.graphql('{ apiKeys { nodes { id } } }', { key: token })).toMatchObject({
      errors: [{ extensions: { code: 'forbidden' } }],
    });
    const held = await holdOpen(token);
    await post(server, 'auth/sign-out', { body: {}, cookie: person.cookie });
    await areClosed(held);
  });
});

describe('?access_token=', () => {
  it('is for client tokens, on event streams by GET and on the WebSocket’s upgrade alone', async () => {
    const { token } = await makeToken(server, key, { scopes: ['usage', 'chat'] });
    const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'a hill' },
    });
    const stream = (credential: string, headers = {}) =>
      openEvents(`${server.origin}/api/v1/jobs/${job.id}/stream?access_token=${credential}`, headers);
    const good = await stream(token);
    expect(good.status).toBe(200);
    await good.ended;
    expect(good.text()).toContain('job.completed');
    const twice = `${token}&access_token=${token}`;
    for (const bad of [key, '', 'x', token.slice(1), `${token}0`, twice, `${token.slice(0, -1)}g`])
      expect([bad, (await stream(bad)).status]).toEqual([bad, 401]);
    expect((await stream(token, { authorization: `Bearer ${key}` })).status).toBe(401);
    const headers = { 'content-type': 'application/json' };
    for (const [method, path, sent] of [
      ['GET', `/api/v1/quota?access_token=${token}`, undefined],
      ['GET', `/api/v1/jobs/${job.id}?access_token=${token}`, undefined],
      ['GET', `/graphql?query=%7Bversion%7D&access_token=${token}`, undefined],
      ['POST', `/graphql?access_token=${token}`, '{"query":"{ version }"}'],
      ['POST', `/api/v1/chat/completions?stream=true&access_token=${token}`, JSON.stringify({ messages })],
    ] as const) {
      const answer = await server.raw(path, { method, headers, ...(sent ? { body: sent } : {}) });
      expect([path.split('?')[0], answer.statusCode]).toEqual([path.split('?')[0], 401]);
      await answer.body.dump();
    }
    for (const bad of [key, 'x', '']) {
      const ws = await openRawWebSocket(`${server.wsUrl}?access_token=${bad}`);
      ws.send({ type: 'connection_init' });
      expect((await ws.closed).code).toBe(4403);
    }
  });
});

it('a client token that nobody made is refused as a key is', async () => {
  for (const text of [`ct_${'0'.repeat(64)}`, `ct_${'0'.repeat(63)}`, `CT_${'0'.repeat(64)}`, 'ct_'])
    expect(await server.rest('GET', '/quota', { key: text })).toMatchObject({
      status: 401,
      body: { error: 'Invalid or missing API key' },
    });
  expect(keyId).toMatch(/^key_/);
});
