/** Signing in at an identity provider, over real HTTP with a provider whose answers are tampered with. */
import { createHash } from 'node:crypto';
import { OAuth2Server } from 'oauth2-mock-server';
import type { MutableResponse, MutableToken, TokenRequestIncomingMessage } from 'oauth2-mock-server';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createOidc } from '../../src/sign-in/oidc/index.js';
import type { Oidc } from '../../src/sign-in/oidc/index.js';

type Claims = Record<string, unknown>;

const PERSON = { email: 'Ann@Example.com', email_verified: true };
const UNPROVEN = 'The answer of the identity provider could not be verified; start again';
const UNSET = 'Signing in at the identity provider is not set up correctly; tell the operator';
const AWAY = 'The identity provider cannot be reached; try again later';

const provider = new OAuth2Server();
const { service } = provider;
const opened: Oidc[] = [];
const log: string[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) });
let oidc: Oidc;

interface Given {
  issuer?: string;
  secret?: string | null;
  signing?: { current: string; previous: string | null };
}

function open({ issuer = provider.issuer.url ?? '', secret = 's3cret', signing }: Given = {}): Oidc {
  const made = createOidc({
    config: {
      oidc: { issuer, clientId: 'penstock', clientSecret: secret, name: 'Example' },
      http: { publicUrl: 'https://models.example.com/penstock' },
    },
    signing: signing ?? { current: 'now', previous: null },
    logger,
  });
  if (made === null) throw new Error('not configured');
  opened.push(made);
  return made;
}

beforeAll(async () => {
  await provider.issuer.keys.generate('RS256');
  await provider.start(0, '127.0.0.1');
  oidc = open();
});
afterEach(() => {
  service.removeAllListeners();
  log.length = 0;
});
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await provider.stop();
});

/** What the ID token says besides the protocol's claims (those of `claims` instead, where both do). */
function idTokenSays(claims: Claims): void {
  service.on('beforeTokenSigning', ({ payload }: MutableToken) => {
    if (payload['aud'] !== undefined) Object.assign(payload, claims);
  });
}

function userinfoSays(body: Claims): void {
  service.on('beforeUserinfo', (answer: MutableResponse) => void (answer.body = body));
}

function tokenEndpointSays(change: (answer: MutableResponse) => void): void {
  service.on('beforeResponse', change);
}

/** A browser's way to the provider and back. */
async function visit(location: string): Promise<URL> {
  const answer = await fetch(location, { redirect: 'manual' });
  return new URL(answer.headers.get('location') ?? '');
}

async function signIn(at: Oidc = oidc): Promise<string> {
  const { location, state } = await at.begin();
  return at.finish(await visit(location), state);
}

/** The payload of a token exchanged for another, its signature kept. */
function altered(token: unknown, change: { header?: Claims; payload?: Claims }): string {
  const [header = '', payload = '', signature = ''] = String(token).split('.');
  const merge = (part: string, claims: Claims = {}) =>
    Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(part, 'base64url').toString()), ...claims }));
  return [
    merge(header, change.header).toString('base64url'),
    merge(payload, change.payload).toString('base64url'),
    change.header === undefined ? signature : '',
  ].join('.');
}

test('a person with a verified address comes back as that address, in lower case', async () => {
  idTokenSays(PERSON);
  const asked: TokenRequestIncomingMessage[] = [];
  service.on('beforeResponse', (_answer, request: TokenRequestIncomingMessage) => asked.push(request));
  const { location, state } = await oidc.begin();
  const query = new URL(location).searchParams;
  expect(Object.fromEntries(query)).toMatchObject({
    response_type: 'code',
    client_id: 'penstock',
    redirect_uri: 'https://models.example.com/penstock/auth/oidc/callback',
    scope: 'openid email profile',
    code_challenge_method: 'S256',
  });
  for (const name of ['state', 'nonce', 'code_challenge']) expect(query.get(name)).toMatch(/^[\w-]{43}$/);
  expect(state).toMatch(/^[\w-]{1,600}$/);
  const back = await visit(location);
  expect(await oidc.finish(new URL(`http://10.0.0.7:4000/auth/oidc/callback${back.search}`), state)).toBe(
    'ann@example.com',
  );
  expect(asked[0]?.headers.authorization).toBe(`Basic ${btoa('penstock:s3cret')}`);
  const { redirect_uri: redirect, code_verifier: verifier = '' } = { ...asked[0]?.body } as Record<
    string,
    string
  >;
  expect(redirect).toBe(query.get('redirect_uri'));
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(query.get('code_challenge'));
  expect(log).toEqual([]);
});

test('a public client signs in with PKCE alone, and an address that only userinfo names counts', async () => {
  userinfoSays({ sub: 'johndoe', email: 'bob@example.com', email_verified: 'true' });
  expect(await signIn(open({ secret: null }))).toBe('bob@example.com');
});

const UNVERIFIED = 'The identity provider has not verified this address';
const NO_ADDRESS = 'The identity provider gives no email address';

test.each([
  [UNVERIFIED, { ...PERSON, email_verified: false }],
  [UNVERIFIED, { email: 'ann@example.com' }],
  [UNVERIFIED, { ...PERSON, email_verified: 1 }],
  [NO_ADDRESS, {}],
  [NO_ADDRESS, { ...PERSON, email: ['ann@example.com'] }],
  [NO_ADDRESS, { ...PERSON, email: 'ann' }],
  [NO_ADDRESS, { ...PERSON, email: '\u212Aim@example.com' }],
])('%s: %j', async (message, claims) => {
  idTokenSays(claims);
  await expect(signIn()).rejects.toMatchObject({ code: 'forbidden', message });
});

test('a mark in userinfo verifies the address of userinfo, not that of the ID token', async () => {
  idTokenSays({ email: 'ann@example.com' });
  userinfoSays({ sub: 'johndoe', email: 'ann@new.example.com', email_verified: true });
  expect(await signIn()).toBe('ann@new.example.com');
  service.removeAllListeners('beforeUserinfo');
  userinfoSays({ sub: 'johndoe', email_verified: true });
  await expect(signIn()).rejects.toMatchObject({ code: 'forbidden', message: UNVERIFIED });
});

const now = Math.floor(Date.now() / 1000);

test.each<[string, Claims]>([
  ['of another attempt', { nonce: 'another' }],
  ['for another client', { aud: 'somebody' }],
  ['of another issuer', { iss: 'https://evil.example.com' }],
  ['that has expired', { iat: now - 7200, exp: now - 3600 }],
])('an ID token %s signs nobody in', async (_what, claims) => {
  idTokenSays({ ...PERSON, ...claims });
  await expect(signIn()).rejects.toMatchObject({ code: 'unauthorized', message: UNPROVEN });
});

test.each([
  ['whose address was changed after it was signed', { payload: { email: 'owner@example.com' } }],
  ['without a signature', { header: { alg: 'none' } }],
  ['signed with what is public', { header: { alg: 'HS256' } }],
])('an ID token %s signs nobody in', async (_what, change) => {
  idTokenSays(PERSON);
  // A provider that would allow these must not weaken the check.
  service.on('beforeWellKnownOpenIdConfiguration', ({ body }: MutableResponse) =>
    Object.assign(body, { id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] }),
  );
  tokenEndpointSays(({ body }) => {
    if (body !== '') body['id_token'] = altered(body['id_token'], change);
  });
  const fault = await signIn(open()).catch((error: unknown) => error);
  expect(fault).toMatchObject({ message: 'payload' in change ? UNPROVEN : UNSET });
  expect(log.join('')).not.toContain('eyJ');
});

test("userinfo of somebody else is not the person's", async () => {
  userinfoSays({ sub: 'jane', email: 'jane@example.com', email_verified: true });
  await expect(signIn()).rejects.toMatchObject({ code: 'unauthorized', message: UNPROVEN });
});

test('a callback without a state, with a foreign or an old one is refused before its code is redeemed', async () => {
  idTokenSays(PERSON);
  const redeemed = vi.fn();
  service.on('beforeResponse', redeemed);
  const [mine, theirs] = [await oidc.begin(), await oidc.begin()];
  const back = await visit(mine.location);
  const bare = new URL(back);
  bare.searchParams.delete('state');
  const another = await open({ signing: { current: 'another', previous: null } }).begin();
  const foreign = {
    code: 'unauthorized',
    message: 'Signing in was not started in this browser; start again',
  };
  for (const state of [undefined, '', theirs.state, another.state, `A${mine.state}`, 'A'.repeat(100_000)])
    await expect(oidc.finish(back, state)).rejects.toMatchObject(foreign);
  await expect(oidc.finish(bare, mine.state)).rejects.toMatchObject(foreign);
  const later = Date.now() + 600_001;
  vi.spyOn(Date, 'now').mockReturnValue(later);
  await expect(oidc.finish(back, mine.state)).rejects.toMatchObject({
    code: 'unauthorized',
    message: 'Signing in took longer than 10 minutes; start again',
  });
  expect(redeemed).not.toHaveBeenCalled();
});

test('what was begun before a change of the signing secret can be finished after it, once', async () => {
  idTokenSays(PERSON);
  const { location, state } = await open({ signing: { current: 'old', previous: null } }).begin();
  const changed = open({ signing: { current: 'new', previous: 'old' } });
  const back = await visit(location);
  expect(await changed.finish(back, state)).toBe('ann@example.com');
  await expect(changed.finish(back, state)).rejects.toMatchObject({
    code: 'unauthorized',
    message: UNPROVEN,
  });
});

test.each([
  ['access_denied', 'forbidden', 'The identity provider did not sign you in'],
  ['temporarily_unavailable', 'unavailable', AWAY],
  ['<b>invalid_scope</b>', 'unavailable', UNSET],
])('the error %s of the provider is told in our words', async (error, code, message) => {
  service.on('beforeAuthorizeRedirect', ({ url }: { url: URL }) => {
    url.searchParams.delete('code');
    url.searchParams.set('error', error);
    url.searchParams.set('error_description', 'x'.repeat(8000));
  });
  await expect(signIn()).rejects.toMatchObject({ code, message });
  expect(log.join('').length).toBeLessThan(1500);
});

test.each<[number, Record<string, unknown>, string, string]>([
  [
    400,
    { error: 'invalid_grant' },
    'unauthorized',
    'Signing in took too long or was finished already; start again',
  ],
  [401, { error: 'invalid_client' }, 'unavailable', UNSET],
  [502, { title: 'Bad gateway' }, 'unavailable', AWAY],
  [200, { access_token: 'x', token_type: 'bearer' }, 'unauthorized', UNPROVEN],
])('a token endpoint that answers %i %j is told in our words', async (status, body, code, message) => {
  tokenEndpointSays((answer) => Object.assign(answer, { statusCode: status, body }));
  await expect(signIn()).rejects.toMatchObject({ code, message });
});

test('a provider that is away is told so, and asked again for the next person, once for all who wait', async () => {
  const late = new OAuth2Server();
  await late.start(0, '127.0.0.1');
  const { url: issuer = '' } = late.issuer;
  await late.stop();
  const waiting = open({ issuer });
  await expect(waiting.begin()).rejects.toMatchObject({ code: 'unavailable', message: AWAY, status: 503 });
  expect(log).toHaveLength(1);
  const asked = vi.fn();
  late.service.on('beforeWellKnownOpenIdConfiguration', asked);
  await late.start(Number(new URL(issuer).port), '127.0.0.1');
  const begun = await Promise.all([waiting.begin(), waiting.begin(), waiting.begin()]);
  expect(new Set(begun.map(({ state }) => state)).size).toBe(3);
  expect(asked).toHaveBeenCalledTimes(1);
  await late.stop();
});

test('a provider that says it is another is not trusted', async () => {
  service.on('beforeWellKnownOpenIdConfiguration', ({ body }: MutableResponse) =>
    Object.assign(body, { issuer: 'https://evil.example.com' }),
  );
  await expect(open().begin()).rejects.toMatchObject({ code: 'unavailable', message: UNSET });
});
