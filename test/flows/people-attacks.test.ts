import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MemberRole } from '../../src/contract/words.js';
import { PASSWORD, post, signIn, type Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const OTHER_PASSWORD = 'somebody else knows this one';

let server: TestServer;
let orgId: string;
let owner: Browser;
let admin: Browser;
beforeAll(async () => {
  server = await startPenstock();
  ({ orgId } = await server.createOrg());
  owner = await join('owner');
  admin = await join('admin');
});
afterAll(() => server?.close());

let named = 0;
const join = (role: MemberRole, hasPassword = false) =>
  signIn(server, { orgId, email: `${role}${(named += 1)}@example.com`, role, hasPassword });
const sql = () => server.services.database.system;

/** Somebody whom only the organisation named, and who has chosen a password. */
async function invite(email: string): Promise<string> {
  const { data } = await owner.graphql(
    `mutation { addPenstockMember(input: { email: "${email}" }) { member { userId } link { url } } }`,
  );
  const { member, link } = data!['addPenstockMember'] as {
    member: { userId: string };
    link: { url: string };
  };
  const entered = await post(server, 'auth/password', {
    body: { token: link.url.split('#link=')[1], password: PASSWORD },
  });
  expect(entered.status).toBe(200);
  return member.userId;
}

const linkFor = (who: Browser, userId: string) =>
  who.graphql(`mutation { createPenstockSignInLink(userId: "${userId}") { url } }`);

it('a password that is set by a link stands against a change that was on its way', async () => {
  const person = await join('member', true);
  const change = person.graphql(
    `mutation { changePenstockPassword(input: { currentPassword: "${PASSWORD}", newPassword: "${OTHER_PASSWORD}" }) { success } }`,
  );
  // Its attempt is counted: it has read the password that it compares with.
  await eventually(async () => (await sql().query('SELECT 1 FROM sign_in_failures')).length > 0, {
    everyMs: 2,
  });
  await sql().query('UPDATE credentials SET password_hash = $2 WHERE user_id = $1', [person.userId, 'new']);
  expect((await change).error).toBe('currentPassword is wrong');
});

it('no link of an organisation is left for an address that the operator vouches for meanwhile', async () => {
  const userId = await invite('vouched@example.com');
  let link: ReturnType<typeof linkFor> | undefined;
  await server.services.database.transaction(async (tx) => {
    await tx.query('UPDATE credentials SET vouched_by = NULL WHERE user_id = $1', [userId]);
    link = linkFor(admin, userId);
    await Promise.race([link, sleep(300)]);
  });
  expect((await link)?.error).toBe('Only the operator can make this link');
});

it('a link that an admin made for a member does not lead to an owner', async () => {
  const userId = await invite('promoted@example.com');
  const { url } = (await linkFor(admin, userId)).data!['createPenstockSignInLink'] as { url: string };
  const promoted = await owner.graphql(
    `mutation { changePenstockMemberRole(userId: "${userId}", role: owner) { role } }`,
  );
  expect(promoted.data).toEqual({ changePenstockMemberRole: { role: 'owner' } });
  const body = { token: url.split('#link=')[1], password: OTHER_PASSWORD };
  expect((await post(server, 'auth/password', { body })).status).toBe(404);
});

it('a link that is used while the operator vouches for its address is over, and neither fails', async () => {
  const userId = await invite('used@example.com');
  const { url } = (await linkFor(admin, userId)).data!['createPenstockSignInLink'] as { url: string };
  const body = { token: url.split('#link=')[1], password: OTHER_PASSWORD };
  let used: ReturnType<typeof post> | undefined;
  await server.services.database.transaction(async (tx) => {
    await tx.query('UPDATE credentials SET vouched_by = NULL WHERE user_id = $1', [userId]);
    used = post(server, 'auth/password', { body });
    await Promise.race([used, sleep(800)]);
    await tx.query('DELETE FROM sign_in_links WHERE user_id = $1', [userId]);
  });
  expect((await used)?.status).toBe(404);
});

it('of links that are made at once one works, and none after a change of the password', async () => {
  const { people } = server.services;
  const { email, graphql } = await join('member', true);
  const links = await Promise.all(Array.from({ length: 6 }, () => people.createLink(email)));
  const works = async ({ token }: { token: string }) =>
    (await post(server, 'auth/link', { body: { token } })).status === 200;
  const working = await Promise.all(links.map(works));
  expect(working.filter(Boolean)).toHaveLength(1);
  await graphql(
    `mutation { changePenstockPassword(input: { currentPassword: "${PASSWORD}", newPassword: "${OTHER_PASSWORD}" }) { success } }`,
  );
  expect((await Promise.all(links.map(works))).some(Boolean)).toBe(false);
});

it('a request whose body is still to come does not keep a role that was taken away', async () => {
  const { cookie, userId, graphql } = await join('admin');
  const body = '{"query":"mutation { createApiKey(input: { name: \\"late\\", scopes: [chat] }) { key } }"}';
  const headers = { cookie, 'content-type': 'application/json', 'content-length': body.length };
  expect((await graphql('{ apiKeys { nodes { id } } }')).status).toBe(200);
  const held = httpRequest(server.graphqlUrl, { method: 'POST', headers });
  held.write(body.slice(0, 5));
  await sleep(100);
  await owner.graphql(`mutation { changePenstockMemberRole(userId: "${userId}", role: viewer) { role } }`);
  held.end(body.slice(5));
  const [answer] = (await once(held, 'response')) as [IncomingMessage];
  expect(await json(answer)).toMatchObject({ errors: [{ extensions: { code: 'unauthorized' } }] });
  // The session itself goes on, as what its person is now.
  expect((await graphql('{ caller { role } }')).data).toEqual({ caller: { role: 'viewer' } });
});

it('an answer that was kept for a retry is told to the person alone who asked', async () => {
  const headers = { 'idempotency-key': 'add-owner' };
  const query =
    'mutation { addPenstockMember(input: { email: "new-owner@example.com", role: owner }) { link { url } } }';
  const made = await owner.graphql(query, headers);
  expect(made.data).toMatchObject({ addPenstockMember: { link: { url: expect.any(String) as string } } });
  expect(await owner.graphql(query, headers)).toEqual(made);
  expect(await admin.graphql(query, headers)).toMatchObject({
    status: 403,
    error: 'Somebody else made this request',
  });
});

it('a page on another host of the same domain charges nobody by a GET', async () => {
  const query = 'subscription { chatCompletion(input: { messages: [{ role: user, content: "x" }] }) { id } }';
  const get = async (site?: string) => {
    const response = await fetch(`${server.graphqlUrl}?${new URLSearchParams({ query })}`, {
      headers: {
        cookie: owner.cookie,
        accept: 'text/event-stream',
        ...(site === undefined ? {} : { 'sec-fetch-site': site }),
      },
    });
    await response.text();
    return response.status;
  };
  // By plain http no browser tells.
  expect([await get('same-site'), await get(), await get('same-origin')]).toEqual([403, 403, 200]);
});

it('what the headers of a webhook say is for owners and admins', async () => {
  const made = await admin.graphql(`mutation { createWebhook(input: { name: "n", url: "https://example.com/h",
    events: ["team.member.added"], customHeaders: { Authorization: "Bearer s3cret" } }) { id customHeaders } }`);
  const { id } = made.data!['createWebhook'] as { id: string };
  const seen = async (who: Browser) =>
    (await who.graphql(`{ webhooks { nodes { customHeaders } } webhook(id: "${id}") { customHeaders } }`))
      .data;
  const headed = (Authorization: string) => ({ customHeaders: { Authorization } });
  const all = (value: string) => ({ webhooks: { nodes: [headed(value)] }, webhook: headed(value) });
  expect(await seen(admin)).toEqual(all('Bearer s3cret'));
  for (const role of ['member', 'viewer'] as const) expect(await seen(await join(role))).toEqual(all('***'));
});

// The last one: it shuts this address for a minute.
it('guessed sessions count against their address, wherever they are asked about', async () => {
  const ask = async (path: string, cookie: string) => {
    const response = await fetch(`${server.origin}/auth/${path}`, { headers: { cookie } });
    await response.text();
    return response.status;
  };
  const guess = `penstock_session=${'g'.repeat(43)}`;
  expect([await ask('options', guess), await ask('session', guess)]).toEqual([200, 401]);
  const more = await Promise.all(Array.from({ length: 70 }, () => ask('options', guess)));
  expect(more).toContain(429);
  // Who is signed in goes on.
  expect(await ask('session', owner.cookie)).toBe(200);
});
