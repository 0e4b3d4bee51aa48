import { createSealer } from '../crypto/sealer.js';

const REMEMBERED = 1000;
const PURPOSE = 'penstock webhook secrets';

/** Encrypts stored webhook secrets with a key derived from SIGNING_SECRET. */
export interface SecretBox {
  seal(text: string): Buffer;
  /** Decrypts with the current or the previous signing secret. @throws Error if neither fits */
  open(sealed: Buffer): string;
  /** Encrypts the secret with the current key; null if it already is, or if neither key fits. */
  reseal(sealed: Buffer): Buffer | null;
  /** Whether a previous signing secret is still accepted. */
  readonly changing: boolean;
}

export function createSecretBox(secrets: { current: string; previous: string | null }): SecretBox {
  const current = createSealer(secrets.current, PURPOSE);
  const previous = secrets.previous === null ? null : createSealer(secrets.previous, PURPOSE);
  /** A cache: each delivery needs its webhook's secret, and busy webhooks are decrypted once. */
  const opened = new Map<string, string>();
  return {
    seal: (text) => current.seal(Buffer.from(text)),
    changing: previous !== null,
    reseal(sealed) {
      if (previous === null || current.open(sealed) !== null) return null;
      const text = previous.open(sealed);
      return text === null ? null : current.seal(text);
    },
    open(sealed) {
      const name = sealed.toString('latin1');
      const known = opened.get(name);
      if (known !== undefined) return known;
      const bytes = current.open(sealed) ?? previous?.open(sealed);
      if (!bytes) throw new Error('The webhook secret was sealed with another SIGNING_SECRET');
      const text = bytes.toString('utf8');
      if (opened.size >= REMEMBERED) opened.clear();
      opened.set(name, text);
      return text;
    },
  };
}
