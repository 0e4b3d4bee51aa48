import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import { createMemberService } from '../../src/access/index.js';
import type { MemberRole } from '../../src/contract/words.js';
import type { TestServer } from './server.js';

/** A password that is long enough; all people in tests use it. */
export const PASSWORD = 'correct horse battery staple';

export interface PostAnswer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read its members freely
  body: Record<string, never> & { error?: string; data?: Record<string, unknown> | null };
}

/** Sends JSON to the server like a browser, with or without a cookie. */
export async function post(
  server: Pick<TestServer, 'origin'>,
  path: string,
  { body, cookie, headers = {} }: { body: unknown; cookie?: string; headers?: Record<string, string> },
): Promise<PostAnswer> {
  const response = await fetch(`${server.origin}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(cookie ? { cookie } : {}), ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as never };
}

/** The `name=value` of an answer's session cookie. */
export const cookieOf = ({ headers }: PostAnswer): string => (headers.get('set-cookie') ?? '').split(';')[0]!;

/** A person who is signed in. */
export interface Browser {
  email: string;
  userId: string;
  cookie: string;
  graphql(query: string, headers?: Record<string, string>): Promise<BrowserAnswer>;
  /** A graphql-ws client that sends the cookie. */
  ws(origin?: string): Client;
}

export interface BrowserAnswer {
  status: number;
  data: Record<string, unknown> | null | undefined;
  /** The message of the first error. */
  error: string | undefined;
}

/** A person with a cookie at a server. */
export function browserOf(server: TestServer, who: Pick<Browser, 'email' | 'userId' | 'cookie'>): Browser {
  const { cookie } = who;
  return {
    ...who,
    async graphql(query, headers = {}) {
      const { status, body } = await post(server, 'graphql', { body: { query }, cookie, headers });
      const { data, errors } = body as { data?: Record<string, unknown>; errors?: { message: string }[] };
      return { status, data, error: errors?.[0]?.message };
    },
    ws: (origin = server.origin) =>
      createClient({
        url: server.wsUrl,
        retryAttempts: 0,
        lazy: false,
        onNonLazyError: () => undefined,
        webSocketImpl: class extends WebSocket {
          constructor(url: string, protocols: string) {
            super(url, protocols, { headers: { cookie, origin } });
          }
        },
      }),
  };
}

/**
 * Adds a member like the operator, and signs the person in: with `hasPassword` by the sign-in link, which sets {@link PASSWORD} and takes a
 * tenth of a second; else like an identity provider.
 */
export async function signIn(
  server: TestServer,
  {
    orgId,
    email,
    role,
    hasPassword = false,
  }: { orgId: string; email: string; role: MemberRole; hasPassword?: boolean },
): Promise<Browser> {
  const { database, people } = server.services;
  const { userId } = await createMemberService({ database }).add(orgId, email, role);
  if (!hasPassword) {
    const { token } = await people.signInVerified(email);
    return browserOf(server, { email, userId, cookie: `penstock_session=${token}` });
  }
  const { token } = await people.createLink(email);
  const answer = await post(server, 'auth/password', { body: { token, password: PASSWORD } });
  return browserOf(server, { email, userId, cookie: cookieOf(answer) });
}
