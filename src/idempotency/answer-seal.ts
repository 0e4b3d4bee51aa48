import { createSealer } from '../crypto/sealer.js';

const PURPOSE = 'penstock kept answers';
/** Stands among the headers of a sealed answer; no header of HTTP can have such a name. */
const MARK = ':sealed';

interface Stored {
  headers: Record<string, string>;
  body: Buffer | null;
}

/**
 * Kept answers hold what the database must not: the secret of a new webhook, addresses of files with their signatures, a chat's words. Their
 * bodies are stored sealed. One that was stored before they were is given as it is.
 */
export interface AnswerSeal {
  seal(answer: { headers: Record<string, string>; body: Buffer }): Stored;
  sealBytes(bytes: Buffer): Buffer;
  /** Null: sealed with a secret that is no longer known. */
  openBytes(sealed: Buffer): Buffer | null;
  /** Null: there is no body, or it is sealed with a secret that is no longer known. */
  open(stored: Stored): { headers: Record<string, string>; body: Buffer } | null;
}

/** @param signing the installation's secrets; what the previous one sealed still opens */
export function createAnswerSeal(signing: { current: string; previous: string | null }): AnswerSeal {
  const current = createSealer(signing.current, PURPOSE);
  const previous = signing.previous === null ? null : createSealer(signing.previous, PURPOSE);
  const openBytes = (sealed: Buffer): Buffer | null => current.open(sealed) ?? previous?.open(sealed) ?? null;
  return {
    sealBytes: (bytes) => current.seal(bytes),
    openBytes,
    seal: ({ headers, body }) => ({ headers: { ...headers, [MARK]: '1' }, body: current.seal(body) }),
    open({ headers: { [MARK]: mark, ...headers }, body }) {
      if (body === null || mark === undefined) return body && { headers, body };
      const opened = openBytes(body);
      return opened && { headers, body: opened };
    },
  };
}
