import { ApiError } from '../../contract/errors.js';
import { createSealer } from '../../crypto/sealer.js';

/** What one attempt to sign in is recognised by when the browser comes back. */
export interface Attempt {
  state: string;
  nonce: string;
  /** The secret half of PKCE: it leaves us sealed only. */
  verifier: string;
}

/** Puts attempts into the browser's hands, so that any process can go on with them. */
export interface StateSeal {
  seal(attempt: Attempt): string;
  /**
   * @param sealed as the browser brought it back
   * @param state of the callback's query
   * @throws ApiError unauthorized: none, another's, older than 10 minutes
   */
  open(sealed: string | undefined, state: string | null): Attempt;
}

const PURPOSE = 'penstock sign-in by OpenID Connect';
const MAX_AGE_MS = 600_000;
/** Of a sealed attempt; what is longer is none. */
const MAX_LENGTH = 600;

const refused = (why: string) => new ApiError('unauthorized', `${why}; start again`);

/** @param signing what the previous secret sealed still opens */
export function createStateSeal(signing: { current: string; previous: string | null }): StateSeal {
  const current = createSealer(signing.current, PURPOSE);
  const previous = signing.previous === null ? null : createSealer(signing.previous, PURPOSE);
  const opened = (sealed: string): (Attempt & { at: number }) | null => {
    if (sealed.length > MAX_LENGTH) return null;
    const bytes = Buffer.from(sealed, 'base64url');
    const text = current.open(bytes) ?? previous?.open(bytes) ?? null;
    return text && (JSON.parse(text.toString()) as Attempt & { at: number });
  };
  return {
    seal: (attempt) =>
      current.seal(Buffer.from(JSON.stringify({ ...attempt, at: Date.now() }))).toString('base64url'),
    open(sealed, state) {
      const attempt = opened(sealed ?? '');
      // Else somebody could have another's browser finish what they began, and be signed in there as themselves.
      if (attempt === null || attempt.state !== state)
        throw refused('Signing in was not started in this browser');
      if (Date.now() - attempt.at > MAX_AGE_MS) throw refused('Signing in took longer than 10 minutes');
      return attempt;
    },
  };
}
