import { createClient } from 'graphql-ws';
import type { Client } from 'graphql-ws';
import { createCredentials } from './credentials.js';
import type { CredentialOptions, Credentials } from './credentials.js';
import { connectionLost, httpFault, PenstockError, refusal, toFault } from './fault.js';
import { pause } from './pause.js';
import { randomKey } from './random.js';

/** The address of the server, the credential, and options of the connection. */
export interface TransportOptions extends CredentialOptions {
  /** The address of the server, such as `https://penstock.example.com`. */
  url: string;
  /** The class of the WebSocket that live calls share. Default: the platform's. */
  webSocketImpl?: unknown;
  /** Called with each error that ends a call or a live view, in addition to the caller: for example to show the sign-in page again. */
  onError?: (error: PenstockError) => void;
}

/** Options of one call. */
export interface RequestOptions {
  /**
   * If a call is repeated with the same key, its work is not repeated. Default for mutations: a new key, so that the client can ask again for a lost
   * answer.
   */
  idempotencyKey?: string;
  /** Stops waiting for the answer. The work that the server began continues. */
  signal?: AbortSignal;
}

/** One subscription. `variables` is called each time that the connection is restored, because its result says where to continue. */
export interface Following<Result> {
  /** The document of the subscription. */
  query: string;
  /** Called each time that the subscription is opened. @returns its variables */
  variables(): Record<string, unknown>;
  /** Called with the `data` of each event. */
  next(result: Result): void;
  /** Called when the subscription has completed, or failed with an error that retries cannot solve. */
  end(error: PenstockError | null): void;
  /** Called when the subscription is established, also after each lost connection. */
  opened?(): void;
  /** Returns true if nobody waits for the subscription any more. Then `onError` is not called when it ends. */
  isLeft?(): boolean;
}

/** Sends requests over HTTP and subscriptions over one WebSocket, which is opened again after lost connections and restarts. */
export interface Transport {
  request<Result>(query: string, variables: object, options?: RequestOptions): Promise<Result>;
  /** @returns a function that ends it */
  follow<Result>(following: Following<Result>): () => void;
  /** @returns the response to a request to an address of the server */
  fetch(path: string, init: RequestInit): Promise<Response>;
  close(): void;
}

/** A server that does not answer a ping within this time counts as away. So a computer that wakes up notices its lost connection at once. */
const PING_MS = 10_000;
const PONG_MS = 5000;
const MOST_RETRIES = 5;
/** After this many refused new tokens in a row, the reason is not the age of the token. */
const MOST_TOKENS = 3;

/** Makes a WebSocket client that pings its server, so that it notices a connection that was lost silently. */
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
    connectionParams: async () => credentials.connection(await credentials.get()),
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

export function createTransport({ url, webSocketImpl, onError, ...given }: TransportOptions): Transport {
  const base = url.replace(/\/+$/, '');
  const credentials = createCredentials(given);
  const socket: Client = openSocket(`${base}/graphql`.replace(/^http/, 'ws'), { credentials, webSocketImpl });

  async function authorized(path: string, init: RequestInit): Promise<Response> {
    for (let tokens = 1; ; tokens++) {
      const text = await credentials.get();
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(credentials.headers(text))) headers.set(name, value);
      const response = await fetch(base + path, { ...init, headers }).catch((error: unknown) => {
        if (init.signal?.aborted === true) throw error;
        throw connectionLost();
      });
      if (response.status !== 401 || !credentials.refused(text) || tokens === MOST_TOKENS) return response;
    }
  }

  async function once<Result>(body: string, options: RequestOptions): Promise<Result> {
    const { idempotencyKey, signal } = options;
    const headers = {
      ...{ accept: 'application/json', 'content-type': 'application/json' },
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const init = { method: 'POST', headers, body, ...(signal && { signal }) };
    const response = await authorized('/graphql', init);
    const answer = await response.json().catch(() => null);
    return resultOf<Result>(answer, response);
  }

  return {
    fetch: authorized,
    async request<Result>(query: string, variables: object, options: RequestOptions = {}) {
      // The word may follow comments and fragments. The server ignores the key of a document without a mutation.
      const isMutation = /\bmutation\b/.test(query);
      const idempotencyKey = options.idempotencyKey ?? (isMutation ? randomKey() : undefined);
      const keyed = idempotencyKey === undefined ? options : { ...options, idempotencyKey };
      const body = JSON.stringify({ query, variables });
      for (let tries = 0; ;) {
        try {
          return await once<Result>(body, keyed);
        } catch (error) {
          const fault = error instanceof PenstockError ? error : null;
          // The attempt whose connection was lost may still be running. Its answer can be had when it has ended.
          const isOwn = tries > 0 && fault?.isInFlight === true;
          // A refusal because of too many calls is passed on to the caller.
          const isWorthIt = isOwn || (fault?.isAway === true && tries < MOST_RETRIES);
          if (fault === null || !isWorthIt || options.signal?.aborted === true) {
            if (fault !== null) onError?.(fault);
            throw error;
          }
          await pause(isOwn ? 0 : tries++, fault);
        }
      }
    },
    follow(following) {
      const end = (error: PenstockError | null): void => {
        if (error !== null && following.isLeft?.() !== true) onError?.(error);
        following.end(error);
      };
      return follow({ ...following, end }, { socket, credentials });
    },
    close: () => void socket.dispose(),
  };
}

function resultOf<Result>(answer: unknown, response: Response): Result {
  const { data, errors } = (answer ?? {}) as Record<string, unknown>;
  if (Array.isArray(errors) && errors.length > 0) throw refusal(errors, response.status);
  if (data != null) return data as Result;
  throw httpFault(answer, response);
}

interface Wire {
  socket: Client;
  credentials: Credentials;
}

/** Opens a subscription again after each lost connection, until it completes, fails for good, or is ended. */
function follow<Result>(following: Following<Result>, { socket, credentials }: Wire): () => void {
  let isEnded = false;
  let stop: () => void = () => undefined;
  let tries = 0;
  let tokens = 0;

  const opening = () =>
    new Promise<void>((resolve, reject) => {
      const { query } = following;
      stop = socket.subscribe<Result>(
        { query, variables: following.variables() },
        {
          next({ data, errors }) {
            if (isEnded) return;
            tries = 0;
            tokens = 0;
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
        const isRenewed = fault.status === 401 && credentials.refused(text) && ++tokens <= MOST_TOKENS;
        if (!isRenewed && !fault.isTemporary) return following.end(fault);
        if (!isRenewed || tokens > 1) await pause(tries++, fault);
      }
    }
  };
  void run();
  return () => {
    isEnded = true;
    stop();
  };
}
