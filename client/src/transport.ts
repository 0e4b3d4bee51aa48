import { createClient } from 'graphql-ws';
import type { Client } from 'graphql-ws';
import { createCredentials } from './credentials.js';
import type { CredentialOptions, Credentials } from './credentials.js';
import { connectionLost, PenstockError, refusal, toFault } from './fault.js';

export interface TransportOptions extends CredentialOptions {
  /** The address of the server, such as `https://penstock.example.com`. */
  url: string;
  /** Of the WebSocket that live calls share. Default: the platform's. */
  webSocketImpl?: unknown;
}

export interface RequestOptions {
  /** Repeating a call with the same key does not repeat its work. Default for mutations: a new one, so that a lost answer can be asked for again. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** One subscription. `variables` is read anew each time that the connection is taken up again: it holds where to go on. */
export interface Following<Result> {
  query: string;
  variables(): Record<string, unknown>;
  next(result: Result): void;
  /** It is over: completed, or failed for good. */
  end(error: PenstockError | null): void;
  /** Called when the subscription stands, also after each loss. */
  opened?(): void;
}

/** Requests over HTTP and subscriptions over one WebSocket, which goes on through losses and restarts. */
export interface Transport {
  request<Result>(query: string, variables: object, options?: RequestOptions): Promise<Result>;
  /** @returns what ends it */
  follow<Result>(following: Following<Result>): () => void;
  /** @returns the response to a request to an address of the server */
  fetch(path: string, init: RequestInit): Promise<Response>;
  close(): void;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 15_000;
/** A server that has not answered a ping for so long is away: a sleeping computer notices its lost connection at once. */
const PING_MS = 10_000;
const PONG_MS = 5000;
const MOST_RETRIES = 5;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Longer each time up to a bound, and not all clients at once: a server that restarts is not overrun. */
function pause(tries: number, { retryAfter }: PenstockError): Promise<void> {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 10));
  return sleep(Math.max((retryAfter ?? 0) * 1000, most * (0.5 + Math.random() / 2)));
}

/** A WebSocket client that pings its server, so that a loss without a word is noticed. */
function openSocket(
  url: string,
  { credentials, webSocketImpl }: { credentials: Credentials; webSocketImpl: unknown },
) {
  let socket: WebSocket | null = null;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  return createClient({
    url,
    webSocketImpl,
    retryAttempts: 0,
    keepAlive: PING_MS,
    connectionParams: async () => ({ authorization: `Bearer ${await credentials.get()}` }),
    on: {
      opened: (opened) => (socket = opened as WebSocket),
      ping(isReceived) {
        const pinged = socket;
        if (!isReceived) waiting = setTimeout(() => pinged?.close(4408, 'No pong'), PONG_MS);
      },
      pong: (isReceived) => isReceived && clearTimeout(waiting),
      closed: () => clearTimeout(waiting),
    },
  });
}

export function createTransport({ url, webSocketImpl, ...given }: TransportOptions): Transport {
  const base = url.replace(/\/+$/, '');
  const credentials = createCredentials(given);
  const socket: Client = openSocket(`${base}/graphql`.replace(/^http/, 'ws'), { credentials, webSocketImpl });

  async function authorized(path: string, init: RequestInit): Promise<Response> {
    for (;;) {
      const text = await credentials.get();
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${text}`);
      const response = await fetch(base + path, { ...init, headers }).catch((error: unknown) => {
        if (init.signal?.aborted === true) throw error;
        throw connectionLost();
      });
      if (response.status !== 401 || !credentials.refused(text)) return response;
    }
  }

  async function once<Result>(body: string, options: RequestOptions): Promise<Result> {
    const { idempotencyKey, signal } = options;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'content-type': 'application/json',
    };
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    const response = await authorized('/graphql', {
      method: 'POST',
      headers,
      body,
      ...(signal && { signal }),
    });
    const answer = await response.json().catch(() => null);
    return resultOf<Result>(answer, response);
  }

  return {
    fetch: authorized,
    async request<Result>(query: string, variables: object, options: RequestOptions = {}) {
      const isMutation = query.startsWith('mutation');
      const idempotencyKey = options.idempotencyKey ?? (isMutation ? crypto.randomUUID() : undefined);
      const keyed = idempotencyKey === undefined ? options : { ...options, idempotencyKey };
      const body = JSON.stringify({ query, variables });
      for (let tries = 0; ; tries++) {
        try {
          return await once<Result>(body, keyed);
        } catch (error) {
          const isWorthIt = error instanceof PenstockError && isAway(error) && tries < MOST_RETRIES;
          if (!isWorthIt || options.signal?.aborted === true) throw error;
          await pause(tries, error);
        }
      }
    },
    follow: (following) => follow(following, { socket, credentials }),
    close: () => void socket.dispose(),
  };
}

/** The server is away, starts or stops. A refusal for too many calls is the caller's to see. */
const isAway = ({ status }: PenstockError): boolean => status === 0 || status === 503;

function resultOf<Result>(answer: unknown, response: Response): Result {
  const { data, errors, error, code, retryAfter } = (answer ?? {}) as Record<string, unknown>;
  if (Array.isArray(errors) && errors.length > 0) throw refusal(errors, response.status);
  if (data != null) return data as Result;
  const message = typeof error === 'string' ? error : `The server answered ${response.status}`;
  const seconds = Number(retryAfter ?? response.headers.get('retry-after') ?? Number.NaN);
  throw new PenstockError(message, {
    code: typeof code === 'string' ? code : 'server_error',
    status: response.status === 200 ? 500 : response.status,
    ...(Number.isNaN(seconds) ? {} : { retryAfter: seconds }),
  });
}

interface Wire {
  socket: Client;
  credentials: Credentials;
}

/** Opens a subscription again and again until it completes, fails for good, or is ended. */
function follow<Result>(following: Following<Result>, { socket, credentials }: Wire): () => void {
  let isEnded = false;
  let stop: () => void = () => undefined;
  let tries = 0;

  const opening = () =>
    new Promise<void>((resolve, reject) => {
      const { query } = following;
      stop = socket.subscribe<Result>(
        { query, variables: following.variables() },
        {
          next({ data, errors }) {
            if (isEnded) return;
            tries = 0;
            if (errors !== undefined && errors.length > 0) reject(refusal(errors, 0));
            else if (data != null) following.next(data);
          },
          error: (thrown) => reject(toFault(thrown)),
          complete: () => resolve(),
        },
      );
      following.opened?.();
    });

  const run = async (): Promise<void> => {
    while (!isEnded) {
      let text = '';
      try {
        text = await credentials.get();
        await opening();
        if (!isEnded) following.end(null);
        return;
      } catch (thrown) {
        const fault = toFault(thrown);
        stop();
        if (isEnded) return;
        const isRenewed = fault.status === 401 && credentials.refused(text);
        if (!isRenewed && !fault.isTemporary) return following.end(fault);
        if (!isRenewed) await pause(tries++, fault);
      }
    }
  };
  void run();
  return () => {
    isEnded = true;
    stop();
  };
}
