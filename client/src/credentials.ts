import { connectionLost, PenstockError } from './fault.js';

/** A client token, and when it ends: an ISO 8601 time or Unix milliseconds. */
export interface TimedToken {
  token: string;
  expiresAt?: string | number;
}

/** Asks the team's own server for a client token. Called again before the token ends, and when the server refuses it. */
export type TokenProvider = () => Promise<string | TimedToken>;

/** One of the three. A key belongs on servers only. */
export interface CredentialOptions {
  key?: string;
  token?: string;
  tokenProvider?: TokenProvider;
}

/** A token is renewed so long before its end. */
const EARLY_MS = 30_000;

/** The text that shows who calls. */
export interface Credentials {
  get(): Promise<string>;
  /** The server refused this text. @returns whether another one can be had */
  refused(text: string): boolean;
}

export function createCredentials({ key, token, tokenProvider }: CredentialOptions): Credentials {
  const given = [key, token, tokenProvider].filter((one) => one !== undefined);
  if (given.length !== 1) throw new TypeError('Give one of key, token and tokenProvider');
  const fixed = key ?? token;
  if (fixed !== undefined) return { get: () => Promise.resolve(fixed), refused: () => false };
  return renewed(tokenProvider as TokenProvider);
}

function renewed(provide: TokenProvider): Credentials {
  let current: Promise<{ text: string; endsAt: number }> | null = null;
  let refusedText: string | null = null;
  let endsAt = Number.POSITIVE_INFINITY;

  const ask = (): Promise<{ text: string; endsAt: number }> => {
    const asked = provide().then(
      (found) => {
        const { token, expiresAt }: TimedToken = typeof found === 'string' ? { token: found } : found;
        endsAt = expiresAt === undefined ? Number.POSITIVE_INFINITY : new Date(expiresAt).getTime();
        return { text: token, endsAt };
      },
      (error: unknown) => {
        if (current === asked) current = null;
        throw error instanceof PenstockError ? error : connectionLost('No token could be had');
      },
    );
    return asked;
  };
  return {
    async get() {
      if (current === null || Date.now() > endsAt - EARLY_MS) {
        endsAt = Number.POSITIVE_INFINITY;
        current = ask();
      }
      return (await current).text;
    },
    refused(text) {
      // A token that is refused twice in a row is refused for another reason than its age.
      if (refusedText === text) return false;
      refusedText = text;
      current = null;
      return true;
    },
  };
}
