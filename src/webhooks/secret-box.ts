import { createSealer } from '../crypto/sealer.js';

const REMEMBERED = 1000;
const PURPOSE = 'penstock webhook secrets';

/** Encrypts stored webhook secrets with a key derived from SIGNING_SECRET. */
export interface SecretBox {
  seal(text: string): Buffer;
  /** Also opens what the previous signing secret sealed. @throws Error where neither fits */
  open(sealed: Buffer): string;
  /** The same secret under the current key; null where it is sealed with that already, or with neither. */
  reseal(sealed: Buffer): Buffer | null;
  /** A previous signing secret is still accepted. */
  readonly changing: boolean;
}

export function createSecretBox(secrets: { current: string; previous: string | null }): SecretBox {
  const current = createSealer(secrets.current, PURPOSE);
  const previous = secrets.previous === null ? null : createSealer(secrets.previous, PURPOSE);
  /** Each delivery opens its webhook's secret: busy ones are opened once. */
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
