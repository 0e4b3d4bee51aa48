import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NewSession, PeopleService, SignedIn } from '../access/index.js';
import { actAs } from '../audit/index.js';
import { ApiError, notFound, toApiError } from '../contract/errors.js';
import { discardBody, errorHeaders, parseJson, readJsonBody, sendAnswer, setRate } from '../http/index.js';
import type { RateState } from '../metering/metering.types.js';
import type { BrowserSessions } from './browser-session.js';
import type { Oidc } from './oidc/index.js';

/** Far more than an address, a password and a token. */
const BODY_LIMIT_BYTES = 16 * 1024;

export interface SignInDependencies {
  people: PeopleService;
  sessions: BrowserSessions;
  /** Null where the operator names no identity provider. */
  oidc: Pick<Oidc, 'name' | 'begin' | 'finish'> | null;
  publicUrl: string;
  /** The window of the caller's address: one slot for each attempt, good or bad. */
  takeAddress(request: IncomingMessage): { admitted: boolean; rate: RateState; retryAfter: number };
  /** The client's address as TRUST_PROXY has it. */
  addressOf(request: IncomingMessage): string;
  onFault(fault: unknown, request: IncomingMessage): void;
}

/** Serves `/auth/…`, what the dashboard signs in and out with (decisions 5). Never rejects. */
export type SignInHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
}

type Body = Record<string, unknown>;
interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** `Set-Cookie`, one each. */
  cookies?: string[];
  body?: unknown;
}
type Endpoint = (call: Call) => Promise<Answer> | Answer;

const ok = (body: unknown, cookies: string[] = []): Answer => ({ status: 200, cookies, body });

const NOBODY_YET = { kind: 'person', id: null, name: null } as const;

/** What the browser is told of who it is; the token goes into its cookie alone. */
const publicIdentity = ({ user, organizations }: SignedIn): SignedIn => ({ user, organizations });

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const body = parseJson(await readJsonBody(request, { limitBytes: BODY_LIMIT_BYTES }));
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError('invalid_request', 'The body must be an object');
  return body as Body;
}

export function createSignInHandler(dependencies: SignInDependencies): SignInHandler {
  const endpoints = new Map(Object.entries(endpointsOf(dependencies)));
  return async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const path = url.split('?', 1)[0] ?? url;
    try {
      const found = endpoints.get(path.slice('/auth/'.length));
      if (found === undefined) throw notFound();
      const endpoint = found[method === 'HEAD' ? 'GET' : method];
      if (endpoint === undefined) {
        const headers = { allow: Object.keys(found).join(', ') };
        throw new ApiError('method_not_allowed', 'Method not allowed', { headers });
      }
      // The work finds out who it is.
      const acting = { actor: NOBODY_YET, address: dependencies.addressOf(request) };
      send(response, await actAs(acting, () => endpoint({ request, response })));
    } catch (fault) {
      const error = toApiError(fault);
      if (error.code === 'server_error') dependencies.onFault(error.details.cause ?? error, request);
      discardBody(request);
      const { param, retryAfter } = error.details;
      const body = { error: error.message, code: error.code, ...(param ? { param } : {}), retryAfter };
      send(response, { status: error.status, headers: errorHeaders(error), body });
    }
  };
}

function send(response: ServerResponse, { status, headers = {}, cookies = [], body }: Answer): void {
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  const isJson = body !== undefined;
  if (isJson) headers['content-type'] = 'application/json; charset=utf-8';
  headers['cache-control'] = 'no-store';
  sendAnswer(response, { status, headers, body: isJson ? JSON.stringify(body) : '' });
}

function endpointsOf(dependencies: SignInDependencies): Record<string, Record<string, Endpoint>> {
  const { people, sessions, oidc } = dependencies;
  const attempt = ({ request, response }: Call): void => {
    const { admitted, rate, retryAfter } = dependencies.takeAddress(request);
    setRate(response, rate);
    if (!admitted) throw new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter });
  };
  /** Before a byte of the body is read: only a page of this installation signs anybody in or out. */
  const requireOwn = ({ request }: Call): void => {
    if (!sessions.trusts(request)) throw new ApiError('forbidden', 'Origin not allowed');
  };
  const guarded =
    (work: (body: Body, call: Call) => Promise<Answer>): Endpoint =>
    async (call) => {
      requireOwn(call);
      attempt(call);
      return work(await bodyOf(call.request), call);
    };
  const enter = async ({ request }: Call, work: Promise<NewSession>): Promise<Answer> => {
    const entered = await work;
    return ok(publicIdentity(entered), [await exchange(dependencies, request, entered)]);
  };
  /** Who comes without a session asks for nothing that could be guessed; who comes with one that is none is counted. */
  const signedIn = async (call: Call): Promise<SignedIn | null> => {
    const token = sessions.token(call.request);
    const found = token === undefined ? null : await people.session(token);
    if (token !== undefined && found === null) attempt(call);
    return found;
  };
  return {
    options: {
      async GET(call) {
        const ways = { password: true, oidc: oidc === null ? null : { name: oidc.name } };
        return ok({ ...ways, user: (await signedIn(call))?.user ?? null });
      },
    },
    session: {
      async GET(call) {
        const found = await signedIn(call);
        if (found !== null) return ok(publicIdentity(found));
        throw new ApiError('unauthorized', 'Not signed in');
      },
    },
    'sign-in': {
      POST: guarded(({ email, password }, call) => enter(call, people.signIn(email, password))),
    },
    'sign-out': {
      async POST(call) {
        requireOwn(call);
        await bodyOf(call.request);
        const token = sessions.token(call.request);
        if (token !== undefined) await people.signOut(token);
        return ok({ success: true }, [sessions.forget()]);
      },
    },
    link: { POST: guarded(async ({ token }) => ok(await people.link(token))) },
    password: {
      POST: guarded(({ token, password }, call) => enter(call, people.setPassword(token, password))),
    },
    ...(oidc === null ? {} : oidcEndpoints({ ...dependencies, oidc }, attempt)),
  };
}

/** Whoever signs in leaves the session behind that the browser had. @returns the new one's cookie */
async function exchange(
  { people, sessions }: Pick<SignInDependencies, 'people' | 'sessions'>,
  request: IncomingMessage,
  { token }: NewSession,
): Promise<string> {
  const before = sessions.token(request);
  if (before !== undefined) await people.signOut(before);
  return sessions.keep(token);
}

/** A browser goes there and comes back: what fails is told on the dashboard, not as JSON. */
function oidcEndpoints(
  {
    people,
    sessions,
    oidc,
    publicUrl,
    onFault,
  }: SignInDependencies & { oidc: Pick<Oidc, 'name' | 'begin' | 'finish'> },
  attempt: (call: Call) => void,
): Record<string, Record<string, Endpoint>> {
  const go = (location: string, cookies: string[]): Answer => ({
    status: 302,
    headers: { location },
    cookies,
  });
  const back = (fault: unknown, request: IncomingMessage): Answer => {
    const error = toApiError(fault);
    if (error.code === 'server_error') onFault(error.details.cause ?? error, request);
    const query = new URLSearchParams({ error: error.message });
    return go(`${publicUrl}/dashboard?${query}`, [sessions.scratch.forget()]);
  };
  return {
    oidc: {
      async GET(call) {
        try {
          attempt(call);
          const { location, state } = await oidc.begin();
          return go(location, [sessions.scratch.keep(state)]);
        } catch (fault) {
          return back(fault, call.request);
        }
      },
    },
    'oidc/callback': {
      async GET(call) {
        const { request } = call;
        try {
          attempt(call);
          const query = new URL(request.url ?? '/', 'http://localhost').search;
          const url = new URL(`${publicUrl}/auth/oidc/callback${query}`);
          const email = await oidc.finish(url, sessions.scratch.read(request));
          const entered = await people.signInVerified(email);
          const cookie = await exchange({ people, sessions }, request, entered);
          return go(`${publicUrl}/dashboard`, [sessions.scratch.forget(), cookie]);
        } catch (fault) {
          return back(fault, request);
        }
      },
    },
  };
}
