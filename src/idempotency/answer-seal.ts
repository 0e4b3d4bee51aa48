import { createSealer } from '../crypto/sealer.js';

const PURPOSE = 'penstock kept answers';
/** Marks a sealed answer among its headers; no HTTP header can have such a name. */
const MARK = ':sealed';

interface Stored {
  headers: Record<string, string>;
  body: Buffer | null;
}

/**
 * Encrypts the bodies of stored answers, because they contain what must not lie in the database in plain text: secrets of new webhooks, signed
 * file addresses, chats. An answer that was stored before encryption was introduced is returned as it is.
 */
export interface AnswerSeal {
  seal(answer: { headers: Record<string, string>; body: Buffer }): Stored;
  sealBytes(bytes: Buffer): Buffer;
  /** Null: sealed with a secret that this installation no longer has. */
  openBytes(sealed: Buffer): Buffer | null;
  /** Null: there is no body, or it is sealed with a secret that this installation no longer has. */
  open(stored: Stored): { headers: Record<string, string>; body: Buffer } | null;
}

/** @param signing the installation's secrets; answers sealed with the previous one can still be opened */
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
