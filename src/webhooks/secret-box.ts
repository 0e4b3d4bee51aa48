import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const REMEMBERED = 1000;

/** Encrypts stored webhook secrets with a key derived from SIGNING_SECRET (AES-256-GCM: nonce, tag, ciphertext). */
export interface SecretBox {
  seal(text: string): Buffer;
  /** Also opens what the previous signing secret sealed. @throws Error where neither fits */
  open(sealed: Buffer): string;
  /** The same secret under the current key; null where it is sealed with that already, or with neither. */
  reseal(sealed: Buffer): Buffer | null;
  /** A previous signing secret is still accepted. */
  readonly changing: boolean;
}

function keyOf(secret: string): Buffer {
  if (secret === '') throw new Error('The signing secret is empty');
  return Buffer.from(hkdfSync('sha256', secret, '', 'penstock webhook secrets', 32));
}

function decrypt(key: Buffer, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([text, decipher.final()]).toString('utf8');
}

export function createSecretBox(secrets: { current: string; previous: string | null }): SecretBox {
  const current = keyOf(secrets.current);
  const previous = secrets.previous === null ? null : keyOf(secrets.previous);
  const seal = (text: string): Buffer => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', current, nonce);
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  };
  const tryOpen = (key: Buffer, sealed: Buffer): string | null => {
    try {
      return decrypt(key, sealed);
    } catch {
      // Sealed with another key: GCM's tag does not fit.
      return null;
    }
  };
  const openNew = (sealed: Buffer): string => {
    if (previous === null) return decrypt(current, sealed);
    try {
      return decrypt(current, sealed);
    } catch {
      // Sealed before the change of SIGNING_SECRET.
      return decrypt(previous, sealed);
    }
  };
  /** Each delivery opens its webhook's secret: busy ones are opened once. */
  const opened = new Map<string, string>();
  return {
    seal,
    changing: previous !== null,
    reseal(sealed) {
      if (previous === null || tryOpen(current, sealed) !== null) return null;
      const text = tryOpen(previous, sealed);
      return text === null ? null : seal(text);
    },
    open(sealed) {
      const name = sealed.toString('latin1');
      const known = opened.get(name);
      if (known !== undefined) return known;
      const text = openNew(sealed);
      if (opened.size >= REMEMBERED) opened.clear();
      opened.set(name, text);
      return text;
    },
  };
}
