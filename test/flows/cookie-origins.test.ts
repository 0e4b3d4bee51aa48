import { afterAll, beforeAll, expect, it } from 'vitest';
import { signIn } from '../support/people.js';
import type { Browser } from '../support/people.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';

const NAMED = 'https://app.example.com';
const QUERY = 'query { caller { role } }';
const SUBSCRIPTION = 'subscription { jobUpdates { type } }';

let server: TestServer;
let owner: Browser;
let key: string;
let own: string;

beforeAll(async () => {
  server = await startPenstock({ env: { CORS_ORIGINS: `${NAMED},https://two.example.com` } });
  const made = await server.createOrg();
  ({ key } = made);
  own = server.origin;
  owner = await signIn(server, { orgId: made.orgId, email: 'owner@example.com', role: 'owner' });
});
afterAll(() => server?.close());

type Headers = Record<string, string>;

/** Which requests a browser sends from which page, and whether the cookie counts there. */
const pages = (): [what: string, headers: Headers, counts: boolean][] => [
  ['the own origin', { origin: own }, true],
  ['the own origin, told as same', { origin: own, 'sec-fetch-site': 'same-origin' }, true],
  ['no origin', {}, true],
  ['no origin, told as same', { 'sec-fetch-site': 'same-origin' }, true],
  ['no origin, of another host of the domain', { 'sec-fetch-site': 'same-site' }, false],
  ['no origin, of another site', { 'sec-fetch-site': 'cross-site' }, false],
  ['no origin, of the address bar', { 'sec-fetch-site': 'none' }, false],
  ['an origin of CORS_ORIGINS', { origin: NAMED }, false],
  ['the other one', { origin: 'https://two.example.com', 'sec-fetch-site': 'same-site' }, false],
  ['a stranger', { origin: 'https://evil.example' }, false],
  ['a page without an origin', { origin: 'null' }, false],
  ['another port', { origin: own.replace(/\d+$/, '1') }, false],
  ['another scheme', { origin: own.replace('http:', 'https:') }, false],
  ['another name of this host', { origin: own.replace('127.0.0.1', 'localhost') }, false],
  ['a name that begins like it', { origin: `${own}.evil.example` }, false],
];

async function send(method: 'GET' | 'POST', query: string, headers: Headers): Promise<number> {
  const url = method === 'GET' ? `/graphql?${new URLSearchParams({ query })}` : '/graphql';
  const body = method === 'GET' ? {} : { body: JSON.stringify({ query }) };
  const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
  const answer = await server.raw(url, { method, headers: { ...type, ...headers }, ...body });
  answer.body.on('error', () => undefined).destroy();
  return answer.statusCode;
}

const stream = { accept: 'text/event-stream' };

it('over HTTP and event streams a session’s cookie counts for pages of PUBLIC_URL alone', async () => {
  const { cookie } = owner;
  for (const [what, headers, counts] of pages()) {
    const status = counts ? 200 : 403;
    const seen = [
      await send('POST', QUERY, { cookie, ...headers }),
      await send('GET', QUERY, { cookie, ...headers }),
      await send('POST', SUBSCRIPTION, { cookie, ...stream, ...headers }),
      await send('GET', SUBSCRIPTION, { cookie, ...stream, ...headers }),
    ];
    expect([what, ...seen]).toEqual([what, status, status, status, status]);
  }
});

it('with a key every page that CORS_ORIGINS names may ask, whatever cookie comes along', async () => {
  const headers = { cookie: owner.cookie, authorization: `Bearer ${key}`, origin: NAMED };
  expect(await send('POST', '{ quota { orgId } }', headers)).toBe(200);
  expect(await send('POST', SUBSCRIPTION, { ...headers, ...stream })).toBe(200);
});

/** What becomes of a WebSocket: the close code, the role that it acts in, or the refused upgrade. */
async function connect(headers: Headers, payload: object = {}): Promise<unknown> {
  try {
    const ws = await openRawWebSocket(server.wsUrl, { headers });
    ws.send({ type: 'connection_init', payload });
    const first = await Promise.race([ws.closed, ws.next('connection_ack').catch(() => ws.closed)]);
    if ('code' in first) return first.code;
    ws.socket.close();
    return 'open';
  } catch (error) {
    return (error as Error).message;
  }
}

it('a WebSocket has the cookie’s power where it names PUBLIC_URL’s origin', async () => {
  const { cookie } = owner;
  expect(await connect({ cookie, origin: own })).toBe('open');
  for (const [what, headers, counts] of pages()) {
    if (counts && 'origin' in headers) continue;
    const isNamed =
      headers['origin']?.endsWith('.example.com') === true && headers['origin'].startsWith('https:');
    const isAllowed = headers['origin'] === undefined || isNamed;
    const outcome = isAllowed ? 4403 : 'upgrade refused with 403';
    expect([what, await connect({ cookie, ...headers })]).toEqual([what, outcome]);
  }
  // With a key of its own the page is who the key is.
  const payload = { authorization: `Bearer ${key}` };
  expect(await connect({ cookie, origin: NAMED }, payload)).toBe('open');
});

it('signing in and out is for pages of PUBLIC_URL', async () => {
  for (const [what, headers, counts] of pages()) {
    const answer = await fetch(`${server.origin}/auth/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ email: 'nobody@example.com', password: 'wrong wrong wrong' }),
    });
    await answer.text();
    expect([what, answer.status]).toEqual([what, counts ? 401 : 403]);
  }
});
