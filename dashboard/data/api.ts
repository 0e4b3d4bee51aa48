import { createClient, type Client } from 'graphql-ws/client';
import { Fault, faultOf, toFault } from './fault.js';
import { textOf, type Answered, type Operation } from './graphql.js';

/** What a subscription tells. */
export interface Listener<Result> {
  next(result: Result): void;
  fail?(fault: Fault): void;
  done?(): void;
}

/** The GraphQL API on behalf of whoever is signed in, in one organisation. */
export interface Api {
  request<Result, Variables extends object>(
    operation: Operation<Result, Variables>,
    variables: Variables,
  ): Promise<Answered<Result>>;
  /** Follows events; a lost connection is taken up again, and `reconnected` listeners are told. @returns what ends it */
  follow<Result, Variables extends object>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    listener: Listener<Result>,
  ): () => void;
  /** Runs a subscription that does work: it is never repeated by itself, since it would be charged twice. @returns what ends it */
  run<Result, Variables extends object>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    listener: Listener<Result>,
  ): () => void;
  /** Called after a lost connection stands again: events in between were missed. @returns what ends it */
  onReconnected(listener: () => void): () => void;
  close(): void;
}

interface RefusalBody {
  message: string;
  extensions?: { code?: string; param?: string; httpStatus?: number; retryAfter?: number };
}

function refusal({ message, extensions = {} }: RefusalBody, status: number): Fault {
  const { code, param, httpStatus, retryAfter } = extensions;
  return new Fault(message, { status: httpStatus ?? status, code, param, retryAfter });
}

const ENDPOINT = 'graphql';
const SIGNED_OUT = 4401;

async function ask(organization: string, query: string, variables: object): Promise<Response> {
  return fetch(ENDPOINT, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'x-organization': organization,
    },
    body: JSON.stringify({ query, variables }),
  });
}

async function answerOf<Result>(response: Response): Promise<Result> {
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  if (!isJson) throw await faultOf(response);
  const body = (await response.json()) as { data?: Result; errors?: RefusalBody[]; error?: string };
  const [first] = body.errors ?? [];
  if (first !== undefined) throw refusal(first, response.status);
  if (body.data == null)
    throw new Fault(body.error ?? `The server answered ${response.status}`, { status: response.status });
  return body.data;
}

/** What ended a subscription: refusals of the operation, the close of its socket, or a failure. */
function subscriptionFault(thrown: unknown): Fault {
  if (Array.isArray(thrown)) return refusal(thrown[0] as RefusalBody, 0);
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'reason' in thrown) {
    const { code, reason } = thrown as { code: number; reason: string };
    return new Fault(reason === '' ? 'The connection was lost' : reason, {
      status: code === SIGNED_OUT ? 401 : 0,
    });
  }
  return thrown instanceof Error ? toFault(thrown) : new Fault('The connection was lost', { status: 0 });
}

const LONGEST_WAIT_MS = 15_000;

/** Longer each time, up to a bound, and not all pages at once: a server that restarts is not overrun. */
async function waitForTurn(retries: number): Promise<void> {
  const most = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** retries);
  await new Promise((resolve) => setTimeout(resolve, most * (0.5 + Math.random() / 2)));
}

/** What a refusal says when the session, the membership or the role is no longer what the page believes. */
const isDoubtful = ({ status, message }: Fault): boolean =>
  status === 401 || status === 403 || message === 'Organization not found';

/** Opens the API for one organisation. `onDoubt` is called when who is signed in, or as what, may have changed. */
export function openApi(organization: string, onDoubt: () => void): Api {
  const reconnected = new Set<() => void>();
  const socket = (retryAttempts: number): Client =>
    createClient({
      url: new URL(ENDPOINT, document.baseURI).href.replace(/^http/, 'ws'),
      connectionParams: { organization },
      retryAttempts,
      retryWait: waitForTurn,
      on: { connected: (_socket, _payload, wasRetry) => wasRetry && reconnected.forEach((tell) => tell()) },
    });
  const [following, running] = [socket(Number.POSITIVE_INFINITY), socket(0)];
  const seen = (fault: Fault): Fault => {
    if (isDoubtful(fault)) onDoubt();
    return fault;
  };
  const subscribeOn =
    (client: Client): Api['follow'] =>
    (operation, variables, { next, fail, done }) =>
      client.subscribe<never>(
        { query: textOf(operation), variables: variables as Record<string, unknown> },
        {
          next: ({ data, errors }) => {
            if (errors?.[0] !== undefined) fail?.(seen(refusal(errors[0] as RefusalBody, 0)));
            else if (data != null) next(data);
          },
          error: (thrown) => fail?.(seen(subscriptionFault(thrown))),
          complete: () => done?.(),
        },
      );
  return {
    async request(operation, variables) {
      try {
        return await answerOf(await ask(organization, textOf(operation), variables));
      } catch (thrown) {
        throw seen(toFault(thrown));
      }
    },
    follow: subscribeOn(following),
    run: subscribeOn(running),
    onReconnected(listener) {
      reconnected.add(listener);
      return () => reconnected.delete(listener);
    },
    close() {
      void following.dispose();
      void running.dispose();
    },
  };
}
