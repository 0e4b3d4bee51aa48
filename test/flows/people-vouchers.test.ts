import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import { browserOf, cookieOf, post, signIn, type Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

/** What whoever the first organisation meant has chosen, and whoever the second one meant. */
const ONE = 'the password that one has set';
const OTHER = 'the password that the other set';

let server: TestServer;
let one: { orgId: string; owner: Browser };
let other: { orgId: string; owner: Browser };
let email: string;
beforeAll(async () => {
  server = await startPenstock();
  one = await organization('one');
  other = await organization('other');
});
afterAll(() => server?.close());
let named = 0;
beforeEach(() => {
  email = `named${(named += 1)}@vouchers.example`;
});

async function organization(name: string) {
  const { orgId } = await server.createOrg();
  return { orgId, owner: await signIn(server, { orgId, email: `${name}@owners.example`, role: 'owner' }) };
}

interface Added {
  member: { userId: string; active: boolean };
  link: { url: string } | null;
}
async function add(by: { owner: Browser }, role = 'member'): Promise<Added> {
  const { data, error } = await by.owner.graphql(
    `mutation { addPenstockMember(input: { email: "${email}", role: ${role} }) { member { userId active } link { url } } }`,
  );
  expect(error).toBeUndefined();
  return data!['addPenstockMember'] as Added;
}
const tokenOf = ({ url }: { url: string }) => url.split('#link=')[1];
const choose = (link: { url: string }, password: string) =>
  post(server, 'auth/password', { body: { token: tokenOf(link), password } });
const enter = (password: string) => post(server, 'auth/sign-in', { body: { email, password } });
const organizationsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body['organizations'] as { id: string }[]).map(({ id }) => id);
const browser = (answer: Parameters<typeof cookieOf>[0]) =>
  browserOf(server, { email, userId: '', cookie: cookieOf(answer) });
/** What a session gets of an organisation, the first of its own where none is named. */
const look = (who: Browser, orgId?: string) =>
  who.graphql('{ penstockOrganization { id } caller { person { memberships { organizationId } } } }', {
    ...(orgId !== undefined && { 'x-organization': orgId }),
  });
const operator = () => createMemberService({ database: server.services.database });

test('an address that one organisation named is added by another, and each one’s link leads into itself alone', async () => {
  const first = await add(one);
  const entered = await choose(first.link!, ONE);
  expect(organizationsOf(entered)).toEqual([one.orgId]);
  const second = await add(other);
  expect(second.member).toEqual({ userId: first.member.userId, active: false });
  // Whoever has the first one's account is not let into the second, by the session from before or a new one.
  for (const who of [browser(entered), browser(await enter(ONE))]) {
    expect(await look(who, other.orgId)).toMatchObject({ status: 404 });
    expect((await look(who)).data).toEqual({
      penstockOrganization: { id: one.orgId },
      caller: { person: { memberships: [{ organizationId: one.orgId }] } },
    });
  }
  const theirs = await choose(second.link!, OTHER);
  expect(organizationsOf(theirs)).toEqual([other.orgId]);
  expect(await look(browser(theirs), one.orgId)).toMatchObject({ status: 404 });
  // Both passwords work, each as far as its voucher's word goes.
  expect(organizationsOf(await enter(ONE))).toEqual([one.orgId]);
  expect(organizationsOf(await enter(OTHER))).toEqual([other.orgId]);
  expect((await look(browser(entered))).status).toBe(200);
});

test('who has both links and chooses one password is in both', async () => {
  const links = [(await add(one)).link!, (await add(other)).link!];
  for (const link of links) await choose(link, ONE);
  expect(organizationsOf(await enter(ONE)).sort()).toEqual([one.orgId, other.orgId].sort());
});

test('an organisation makes links for its own part only, and what it does ends nothing of the other’s', async () => {
  const { member, link } = await add(one, 'admin');
  const session = browser(await choose(link!, ONE));
  const theirs = (await add(other)).link!;
  const { data } = await one.owner.graphql(
    `mutation { createPenstockSignInLink(userId: "${member.userId}") { url } }`,
  );
  // The other one's link is still good.
  const inOther = browser(await choose(theirs, OTHER));
  await choose(data!['createPenstockSignInLink'] as { url: string }, 'chosen by an admin of one');
  await eventually(async () => (await look(session)).status === 401);
  expect((await look(inOther)).status).toBe(200);
  expect((await enter(ONE)).status).toBe(401);
  expect(organizationsOf(await enter(OTHER))).toEqual([other.orgId]);
  const changed = await inOther.graphql(
    `mutation { changePenstockPassword(input: { currentPassword: "chosen by an admin of one", newPassword: "${ONE}" }) { success } }`,
  );
  expect(changed.error).toBe('currentPassword is wrong');
});

test('a new password of one part ends that part’s other sessions, and leaves the other part’s password', async () => {
  await choose((await add(one)).link!, ONE);
  await choose((await add(other)).link!, OTHER);
  const [mine, mineElsewhere, theirs] = [
    browser(await enter(ONE)),
    browser(await enter(ONE)),
    browser(await enter(OTHER)),
  ];
  const changed = await mine.graphql(
    `mutation { changePenstockPassword(input: { currentPassword: "${ONE}", newPassword: "yet another password" }) { success } }`,
  );
  expect(changed.data).toEqual({ changePenstockPassword: { success: true } });
  await eventually(async () => (await look(mineElsewhere)).status === 401);
  expect([(await look(mine)).status, (await look(theirs)).status]).toEqual([200, 200]);
  expect((await enter(ONE)).status).toBe(401);
  expect(organizationsOf(await enter(OTHER))).toEqual([other.orgId]);
});

test.each([
  [
    'the operator adds it',
    () =>
      operator()
        .add(one.orgId, email, 'member')
        .catch(() => undefined),
  ],
  ['an identity provider vouches for it', () => server.services.people.signInVerified(email)],
  ['the operator makes a link', () => server.services.people.createLink(email)],
])(
  'once %s, the address is its owner’s: what was set by organisations’ links is over',
  async (_what, prove) => {
    const sessions = [
      browser(await choose((await add(one)).link!, ONE)),
      browser(await choose((await add(other)).link!, OTHER)),
    ];
    const { data } = await one.owner.graphql('{ penstockMembers { nodes { userId email } } }');
    const { nodes } = data!['penstockMembers'] as { nodes: { userId: string; email: string }[] };
    const { userId } = nodes.find((m) => m.email === email)!;
    const left = await one.owner.graphql(
      `mutation { createPenstockSignInLink(userId: "${userId}") { url } }`,
    );
    if (_what.startsWith('the operator adds')) {
      const { orgId } = await server.createOrg();
      await operator().add(orgId, email, 'member');
    } else await prove();
    for (const who of sessions) await eventually(async () => (await look(who)).status === 401);
    expect([(await enter(ONE)).status, (await enter(OTHER)).status]).toEqual([401, 401]);
    expect((await choose(left.data!['createPenstockSignInLink'] as { url: string }, ONE)).status).toBe(404);
    for (const by of [one, other])
      expect(
        (await by.owner.graphql(`mutation { createPenstockSignInLink(userId: "${userId}") { url } }`)).error,
      ).toBe('Only the operator can make this link');
    const proven = await server.services.people.signInVerified(email);
    const ids = proven.organizations.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([one.orgId, other.orgId]));
  },
);

test('who knows one part’s password cannot guess at the other’s without end', async () => {
  await choose((await add(one)).link!, ONE);
  await choose((await add(other)).link!, OTHER);
  const statuses: number[] = [];
  for (let guess = 0; guess < 12; guess++) {
    statuses.push((await enter(`a guess at it, number ${guess}`)).status);
    // Would end the count, were it the only password.
    if (guess % 3 === 0) await enter(ONE);
  }
  expect(statuses.at(-1)).toBe(429);
}, 60_000);

test('organisations that add an address at once all have their member, and the operator’s word beside them ends theirs', async () => {
  const added = await Promise.all([add(one), add(other)]);
  expect(added[0].member.userId).toBe(added[1].member.userId);
  expect(added.every(({ link }) => link !== null)).toBe(true);
  email = `named${(named += 1)}@vouchers.example`;
  const third = await server.createOrg();
  await Promise.all([add(one), operator().add(third.orgId, email, 'owner'), add(other)]);
  const rows = await server.installation.sql<{ vouched_by: string | null }>(
    'SELECT c.vouched_by FROM credentials c JOIN users u ON u.id = c.user_id WHERE u.email = $1',
    [email],
  );
  expect(rows).toEqual([{ vouched_by: null }]);
});
