import { connectionLost, PenstockError } from './fault.js';

/** A client token, and the time at which it ends: an ISO 8601 time or Unix milliseconds. */
export interface TimedToken {
  /** The token, `ct_…`. */
  token: string;
  /** Default: never. The client asks for the next token 30 seconds before this time. */
  expiresAt?: string | number;
}

/**
 * Asks your own server for a client token. The client calls it again before the token ends, and when the server refuses the token. @throws any error:
 * a PenstockError is passed on to the failed calls, any other error becomes `connection_lost`
 */
export type TokenProvider = () => Promise<string | TimedToken>;

/** Give exactly one of these four. Use a key on servers only. */
export interface CredentialOptions {
  /** An API key, `sk_…`. */
  key?: string;
  /** A client token, `ct_…`. It is not renewed. */
  token?: string;
  /** A function that returns a client token each time that one is needed. */
  tokenProvider?: TokenProvider;
  /** For pages of the server itself, such as its dashboard: the id of the organisation. The browser sends the cookie of the signed-in person. */
  session?: string;
}

/**
 * A token is renewed this long before it ends. But it is used for at least as long, unless the server refuses it: on a computer whose clock is fast
 * each token seems to have ended.
 */
const EARLY_MS = 30_000;

/** Manages the text that authenticates the caller. */
export interface Credentials {
  get(): Promise<string>;
  /** The headers that authenticate a request. */
  headers(text: string): Record<string, string>;
  /** The payload of `connection_init` that authenticates a WebSocket. */
  connection(text: string): Record<string, unknown>;
  /** Reports that the server refused this text. @returns whether another text can be obtained */
  refused(text: string): boolean;
}

const BEARER = {
  headers: (text: string) => ({ authorization: `Bearer ${text}` }),
  connection: (text: string) => ({ authorization: `Bearer ${text}` }),
};

/** The browser sends the cookie by itself, so these credentials have no text. */
const SESSION = {
  headers: (organization: string) => ({ 'x-organization': organization }),
  connection: (organization: string) => ({ organization }),
};

export function createCredentials({ key, token, tokenProvider, session }: CredentialOptions): Credentials {
  const given = [key, token, tokenProvider, session].filter((one) => one !== undefined);
  if (given.length !== 1) throw new TypeError('Give one of key, token, tokenProvider and session');
  const fixed = key ?? token ?? session;
  const shown = session === undefined ? BEARER : SESSION;
  if (fixed !== undefined) return { ...shown, get: () => Promise.resolve(fixed), refused: () => false };
  return { ...BEARER, ...renewed(tokenProvider as TokenProvider) };
}

interface Held {
  text: string;
  /** Unix milliseconds: when the next token is requested. */
  usedUntil: number;
}

function renewed(provide: TokenProvider): Pick<Credentials, 'get' | 'refused'> {
  let held: Held | null = null;
  let asked: Promise<Held> | null = null;
  let refusedText: string | null = null;
  /** The provider returned the same token again after the server had refused it. So the token is refused for another reason than its age. */
  let repeated: string | null = null;

  const ask = async (): Promise<Held> => {
    try {
      const found = await provide();
      const { token, expiresAt }: TimedToken = typeof found === 'string' ? { token: found } : found;
      if (token === refusedText) repeated = token;
      const endsAt = expiresAt === undefined ? Number.POSITIVE_INFINITY : new Date(expiresAt).getTime();
      held = { text: token, usedUntil: Math.max(endsAt - EARLY_MS, Date.now() + EARLY_MS) };
      return held;
    } catch (error) {
      throw error instanceof PenstockError ? error : connectionLost('No token could be had');
    }
  };
  return {
    async get() {
      if (held !== null && Date.now() <= held.usedUntil) return held.text;
      // All callers that need a token at the same time wait for the same request.
      asked ??= ask().finally(() => (asked = null));
      return (await asked).text;
    },
    refused(text) {
      if (text === repeated) return false;
      // The server refuses all streams of a socket at once. Only the first of them asks for the next token.
      if (held?.text === text) {
        refusedText = text;
        held = null;
      }
      return true;
    },
  };
}
