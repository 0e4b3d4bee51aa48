import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import type { MemberRole } from '../../src/contract/words.js';
import { browserOf, cookieOf, PASSWORD, post, signIn, type Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const ME = '{ caller { role organization { id } person { id email memberships { organizationId role } } } }';

let server: TestServer;
/** Another process on the same installation. */
let other: TestServer;
let orgId: string;
let owner: Browser;
beforeAll(async () => {
  server = await startPenstock();
  other = await startPenstock({ role: 'api', installation: server.installation });
  ({ orgId } = await server.createOrg());
  owner = await signIn(server, { orgId, email: 'owner@example.com', role: 'owner', hasPassword: true });
});
afterAll(async () => {
  await other?.close();
  await server?.close();
});

const members = () => createMemberService({ database: server.services.database });
let named = 0;
const join = (role: MemberRole, hasPassword = false) =>
  signIn(server, { orgId, email: `${role}${(named += 1)}@example.com`, role, hasPassword });

describe('a one-time link', () => {
  it('tells whose it is, sets a password and signs in; of two who use it at once one gets in', async () => {
    await members().add(orgId, 'New@example.com', 'member');
    const { token } = await server.services.people.createLink('new@example.com');
    expect((await post(server, 'auth/link', { body: { token } })).body).toMatchObject({
      email: 'new@example.com',
    });
    const short = await post(server, 'auth/password', { body: { token, password: 'too short' } });
    expect([short.status, short.body]).toMatchObject([400, { param: 'password' }]);
    const use = (at: TestServer) => post(at, 'auth/password', { body: { token, password: PASSWORD } });
    const [one, two] = await Promise.all([use(server), use(other)]);
    expect([one.status, two.status].sort()).toEqual([200, 404]);
    const lost = one.status === 404 ? one : two;
    expect(lost.body).toEqual({ error: 'Link is invalid or has expired', code: 'not_found' });
    expect(cookieOf(lost)).toBe('');
    const set = (one.status === 200 ? one : two).headers.get('set-cookie');
    expect(set).toMatch(/^penstock_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
  });

  it('ends with the next one', async () => {
    const { token } = await server.services.people.createLink(owner.email);
    await server.services.people.createLink(owner.email);
    expect((await post(server, 'auth/link', { body: { token } })).status).toBe(404);
  });
});

describe('signing in', () => {
  it('takes the address in any case; a wrong password and an unknown address are told alike', async () => {
    const right = await post(server, 'auth/sign-in', {
      body: { email: ' OWNER@example.com', password: PASSWORD },
    });
    expect(right.body).toMatchObject({
      user: { email: 'owner@example.com' },
      organizations: [{ id: orgId, role: 'owner' }],
    });
    const wrong = { error: 'Invalid email or password', code: 'unauthorized' };
    for (const body of [
      { email: owner.email, password: 'wrong horse battery staple' },
      { email: 'nobody@example.com', password: PASSWORD },
      { email: [owner.email], password: PASSWORD },
      {},
    ]) {
      const answer = await post(server, 'auth/sign-in', { body });
      expect([answer.status, answer.body, cookieOf(answer)]).toEqual([401, wrong, '']);
    }
  });

  it('is refused after ten guesses, the right one too, on every process', async () => {
    const { email } = await join('member', true);
    const guess = (at: TestServer, password: string) =>
      post(at, 'auth/sign-in', { body: { email, password } });
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => guess(n % 2 ? server : other, `wrong wrong wrong ${n}`)),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array<number>(10).fill(401), 429]);
    const late = await guess(other, PASSWORD);
    expect([late.status, late.body.error]).toEqual([429, 'Too many attempts']);
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(800);
  });

  it('takes JSON only, from its own pages only', async () => {
    const body = { email: owner.email, password: PASSWORD };
    const foreign: Record<string, string>[] = [
      { origin: 'http://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign)
      expect((await post(server, 'auth/sign-in', { body, headers })).body.error).toBe('Origin not allowed');
    const form = await post(server, 'auth/sign-in', { body, headers: { 'content-type': 'text/plain' } });
    expect(form.status).toBe(415);
    const own = await post(server, 'auth/sign-in', { body, headers: { origin: server.origin } });
    expect(own.status).toBe(200);
  });
});

describe('a session', () => {
  it('opens GraphQL as its person, and nothing else', async () => {
    expect((await owner.graphql(ME)).data).toEqual({
      caller: {
        role: 'owner',
        organization: { id: orgId },
        person: {
          id: owner.userId,
          email: owner.email,
          memberships: [{ organizationId: orgId, role: 'owner' }],
        },
      },
    });
    const { cookie } = owner;
    expect((await server.rest('GET', '/quota', { headers: { cookie } })).status).toBe(401);
    // A header beats it, good or bad.
    expect(await owner.graphql(ME, { authorization: 'Bearer sk_bad' })).toMatchObject({ status: 401 });
  });

  it('is no use to a page of another origin, over HTTP and over WebSocket', async () => {
    expect(await owner.graphql(ME, { origin: 'http://evil.example' })).toMatchObject({
      status: 403,
      error: 'Origin not allowed',
    });
    const closed = new Promise((resolve) => owner.ws('http://evil.example').on('closed', resolve));
    expect(await closed).toMatchObject({ code: 1006 });
  });

  it('looks at each organisation of its person by its id, at others not at all', async () => {
    const second = await server.createOrg();
    const third = await server.createOrg();
    await members().add(second.orgId, owner.email, 'viewer');
    const at = (id: string) => owner.graphql(ME, { 'x-organization': id });
    expect((await at(second.orgId)).data).toMatchObject({
      caller: { role: 'viewer', organization: { id: second.orgId } },
    });
    for (const id of [third.orgId, 'nonsense', `org_'`])
      expect(await at(id)).toMatchObject({ status: 404, error: 'Organization not found' });
  });

  it('ends with signing out, at once on every process, with its open WebSocket', async () => {
    const person = await join('member');
    const there = browserOf(other, person);
    expect((await there.graphql(ME)).status).toBe(200);
    const closed = new Promise<{ code: number }>((resolve) => {
      const client = there.ws(other.origin);
      client.on('connected', () => void post(server, 'auth/sign-out', { body: {}, cookie: person.cookie }));
      client.on('closed', (event) => resolve(event as { code: number }));
    });
    expect((await closed).code).toBe(4401);
    const refused = await there.graphql(ME);
    expect(refused).toMatchObject({ status: 401, error: 'Session has ended' });
    const asked = await fetch(`${server.origin}/auth/session`, { headers: { cookie: person.cookie } });
    expect(asked.status).toBe(401);
  });

  it('ends with the membership, and when the password changes elsewhere', async () => {
    const [gone, changed] = [await join('member'), await join('member', true)];
    await owner.graphql(`mutation { removePenstockMember(userId: "${gone.userId}") { success } }`);
    await eventually(async () => (await gone.graphql(ME)).status !== 200);
    expect((await gone.graphql(ME)).error).toBe('Not a member of any organization');

    const again = await post(server, 'auth/sign-in', { body: { email: changed.email, password: PASSWORD } });
    const here = browserOf(server, { ...changed, cookie: cookieOf(again) });
    const change = (current: string) =>
      here.graphql(
        `mutation { changePenstockPassword(input: { currentPassword: "${current}", newPassword: "another good password" }) { success person { email } } }`,
      );
    expect((await change('not it')).error).toBe('currentPassword is wrong');
    expect((await change(PASSWORD)).data).toEqual({
      changePenstockPassword: { success: true, person: { email: changed.email } },
    });
    expect((await here.graphql(ME)).status).toBe(200);
    await eventually(async () => (await changed.graphql(ME)).status === 401);
  });
});

describe('roles', () => {
  const FIELDS = {
    read: '{ jobs { nodes { id } } webhooks { nodes { id } } penstockMembers { nodes { email } } }',
    work: 'mutation { duplicateAgent(id: "agt_none") { id } }',
    webhook: 'mutation { deleteWebhook(id: "whk_none") { success } }',
    keys: '{ apiKeys { nodes { id } } }',
    key: 'mutation { createApiKey(input: { name: "k", scopes: [chat] }) { key } }',
    member: 'mutation { removePenstockMember(userId: "usr_none") { success } }',
    plan: 'mutation { cancelPenstockPlan { id } }',
  };
  it.each([
    ['viewer', ['read']],
    ['member', ['read', 'work']],
    ['admin', ['read', 'work', 'webhook', 'keys', 'key', 'member', 'plan']],
  ] as const)('%s: what it may, and nothing else', async (role, allowed) => {
    const person = await join(role);
    for (const [name, query] of Object.entries(FIELDS)) {
      const { error } = await person.graphql(query);
      const refusal = `Role ${role} may not do this`;
      if ((allowed as readonly string[]).includes(name)) expect([name, error]).not.toEqual([name, refusal]);
      else expect([name, error]).toEqual([name, refusal]);
    }
  });

  it('a viewer is charged nothing by a subscription either', async () => {
    const viewer = await join('viewer');
    const client = viewer.ws();
    const failed = new Promise((resolve) => {
      client.subscribe(
        {
          query:
            'subscription { chatCompletion(input: { messages: [{ role: user, content: "x" }] }) { id } }',
        },
        { next: resolve, error: resolve, complete: () => undefined },
      );
    });
    expect(JSON.stringify(await failed)).toContain('Role viewer may not do this');
    await client.dispose();
  });

  it('only owners make, change and remove owners; the last one stays', async () => {
    const [admin, second] = [await join('admin'), await join('owner')];
    const run = (who: Browser, mutation: string) => who.graphql(`mutation { ${mutation} }`);
    const refused = 'Role admin may not do this';
    for (const mutation of [
      `removePenstockMember(userId: "${second.userId}") { success }`,
      `changePenstockMemberRole(userId: "${second.userId}", role: viewer) { role }`,
      `changePenstockMemberRole(userId: "${admin.userId}", role: owner) { role }`,
      `createPenstockSignInLink(userId: "${second.userId}") { url }`,
      `addPenstockMember(input: { email: "third@example.com", role: owner }) { member { role } }`,
    ])
      expect([mutation, (await run(admin, mutation)).error]).toEqual([mutation, refused]);
    const demoted = await run(
      owner,
      `changePenstockMemberRole(userId: "${second.userId}", role: viewer) { role }`,
    );
    expect(demoted.data).toEqual({ changePenstockMemberRole: { role: 'viewer' } });
    await eventually(async () => (await run(second, 'cancelPenstockPlan { id }')).error !== undefined);
    expect((await run(owner, `removePenstockMember(userId: "${owner.userId}") { success }`)).error).toBe(
      'The last owner cannot be removed or changed',
    );
  });

  it('a key manages neither keys nor people', async () => {
    const { key } = await server.createKey(orgId);
    for (const query of [
      FIELDS.keys,
      FIELDS.key,
      FIELDS.member,
      FIELDS.plan,
      '{ penstockMembers { nodes { email } } }',
    ])
      expect((await server.graphql(query, { key })).errors[0]?.message).toBe('Sign in to do this');
  });
});

describe('keys', () => {
  it('are made with a name, scopes and an end, work over REST, and stop at once when they are revoked', async () => {
    const make = (rest: string) =>
      owner.graphql(`mutation { createApiKey(input: { name: "ci", scopes: [usage, chat] ${rest} }) {
        key apiKey { id name prefix scopes expiresAt revokedAt } } }`);
    expect((await make('expiresAt: "2020-01-01T00:00:00Z"')).error).toBe('expiresAt must be in the future');
    const { key, apiKey } = (await make('expiresAt: "2100-01-01T00:00:00Z"')).data!['createApiKey'] as {
      key: string;
      apiKey: { id: string };
    };
    expect(apiKey).toMatchObject({
      name: 'ci',
      prefix: key.slice(0, 11),
      scopes: ['chat', 'usage'],
      expiresAt: '2100-01-01T00:00:00.000Z',
      revokedAt: null,
    });
    expect((await server.rest('GET', '/quota', { key })).status).toBe(200);
    expect((await other.rest('GET', '/quota', { key })).status).toBe(200);
    const { nodes: listed } = (await owner.graphql('{ apiKeys { nodes { name } } }')).data!['apiKeys'] as {
      nodes: { name: string }[];
    };
    // What sessions act by is nobody's to see or revoke.
    expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(['test', 'ci', 'k']));
    const revoke = (who: Browser, headers = {}) =>
      who.graphql(`mutation { revokeApiKey(id: "${apiKey.id}") { success apiKey { revokedAt } } }`, headers);
    const stranger = await server.createOrg();
    const foreign = await signIn(server, { orgId: stranger.orgId, email: 's@example.com', role: 'owner' });
    expect((await revoke(foreign)).error).toBe('API key not found');
    expect((await revoke(owner)).data).toMatchObject({ revokeApiKey: { success: true } });
    await eventually(async () => (await other.rest('GET', '/quota', { key })).status === 401);
  });
});

it('an answer that was kept for a retry shows a key made by an admin to admins only', async () => {
  const query = 'mutation { createApiKey(input: { name: "kept", scopes: [chat] }) { key } }';
  const headers = { 'idempotency-key': 'kept' };
  const made = await owner.graphql(query, headers);
  expect(made.data).toMatchObject({ createApiKey: { key: expect.any(String) as string } });
  expect(await owner.graphql(query, headers)).toEqual(made);
  const [member, { key }] = [await join('member'), await server.createKey(orgId)];
  expect((await member.graphql(query, headers)).error).toBe('Role member may not do this');
  expect((await server.graphql(query, { key, headers })).errors[0]?.message).toBe('Sign in to do this');
});

describe('adding people', () => {
  const add = (who: Browser, email: string) =>
    who.graphql(
      `mutation { addPenstockMember(input: { email: "${email}" }) { member { userId role active } link { url } } }`,
    );

  it('gives a link for who is new, which leads to the dashboard and works', async () => {
    const { data } = await add(owner, 'Fresh@example.com');
    const { member, link } = data!['addPenstockMember'] as { member: object; link: { url: string } };
    expect(member).toMatchObject({ role: 'member', active: false });
    expect(link.url).toMatch(/\/dashboard#link=[\w-]{43}$/);
    const token = link.url.split('#link=')[1];
    const entered = await post(server, 'auth/password', { body: { token, password: PASSWORD } });
    expect(entered.body).toMatchObject({ user: { email: 'fresh@example.com' } });
  });

  it('gives none for somebody whom the operator named: who has it has the account', async () => {
    const elsewhere = await server.createOrg();
    const boss = await signIn(server, { orgId: elsewhere.orgId, email: 'boss@example.com', role: 'owner' });
    expect((await add(owner, 'boss@example.com')).data).toMatchObject({ addPenstockMember: { link: null } });
    const link = await owner.graphql(
      `mutation { createPenstockSignInLink(userId: "${boss.userId}") { url } }`,
    );
    expect(link.error).toBe('Only the operator can make this link');
  });

  it('by the operator ends what an organisation had set for the address', async () => {
    const { data } = await add(owner, 'claimed@example.com');
    const { link } = data!['addPenstockMember'] as { link: { url: string } };
    const entered = await post(server, 'auth/password', {
      body: { token: link.url.split('#link=')[1], password: PASSWORD },
    });
    const claimed = browserOf(server, { email: '', userId: '', cookie: cookieOf(entered) });
    expect((await claimed.graphql(ME)).status).toBe(200);
    const elsewhere = await server.createOrg();
    await members().add(elsewhere.orgId, 'claimed@example.com', 'owner');
    await eventually(async () => (await claimed.graphql(ME)).status === 401);
    const again = await post(server, 'auth/sign-in', {
      body: { email: 'claimed@example.com', password: PASSWORD },
    });
    expect(again.status).toBe(401);
  });
});
