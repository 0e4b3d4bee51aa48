import { OAuth2Server } from 'oauth2-mock-server';
import type { MutableToken } from 'oauth2-mock-server';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { browserOf, signIn } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';

const provider = new OAuth2Server();
let server: TestServer;
let orgId: string;
beforeAll(async () => {
  await provider.issuer.keys.generate('RS256');
  await provider.start(0, '127.0.0.1');
  server = await startPenstock({
    env: {
      OIDC_ISSUER: provider.issuer.url ?? '',
      OIDC_CLIENT_ID: 'penstock',
      OIDC_CLIENT_SECRET: 's3cret',
      OIDC_NAME: 'Example',
    },
  });
  ({ orgId } = await server.createOrg());
});
afterEach(() => void provider.service.removeAllListeners());
afterAll(async () => {
  await server?.close();
  await provider.stop();
});

/** A browser follows one redirect and keeps what cookies it is given. */
async function follow(url: string, cookie = ''): Promise<{ location: string; cookies: string[] }> {
  const answer = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
  await answer.arrayBuffer();
  expect(answer.status).toBe(302);
  return { location: answer.headers.get('location') ?? '', cookies: answer.headers.getSetCookie() };
}

/** To the provider and back, as whoever has this address there. */
async function signInAs(email: string): Promise<{ location: string; cookies: string[] }> {
  provider.service.on('beforeTokenSigning', ({ payload }: MutableToken) => {
    if (payload['aud'] !== undefined) Object.assign(payload, { email, email_verified: true });
  });
  const begun = await follow(`${server.origin}/auth/oidc`);
  expect(begun.cookies[0]).toMatch(/^penstock_oidc=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  const back = await follow(begun.location);
  expect(back.location).toMatch(`${server.origin}/auth/oidc/callback`);
  return follow(back.location, begun.cookies[0]?.split(';')[0]);
}

it('the dashboard is told its name', async () => {
  const options = await fetch(`${server.origin}/auth/options`);
  expect(await options.json()).toEqual({ password: true, oidc: { name: 'Example' }, user: null });
});

it('a member comes back signed in; sessions from other ways in stay where the operator named the address', async () => {
  const before = await signIn(server, { orgId, email: 'ann@example.com', role: 'member' });
  const { location, cookies } = await signInAs('Ann@example.com');
  expect(location).toBe(`${server.origin}/dashboard`);
  expect(cookies[0]).toMatch(/^penstock_oidc=; Path=\/; Max-Age=0/);
  const cookie = cookies[1]?.split(';')[0] ?? '';
  for (const browser of [before, browserOf(server, { ...before, cookie })])
    expect((await browser.graphql('{ caller { person { email } } }')).data).toEqual({
      caller: { person: { email: 'ann@example.com' } },
    });
});

it('who is no member comes back with a sentence and no session', async () => {
  const { location, cookies } = await signInAs('stranger@example.com');
  expect(new URL(location).searchParams.get('error')).toBe('Not a member of any organization');
  expect(cookies).toHaveLength(1);
});

it('an answer that this browser did not ask for signs nobody in', async () => {
  const { location, cookies } = await follow(`${server.origin}/auth/oidc/callback?code=x&state=y`);
  expect(new URL(location).searchParams.get('error')).toMatch(/not started in this browser/);
  expect(cookies.join()).not.toContain('penstock_session');
});
