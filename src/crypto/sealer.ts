import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts what is stored with a key derived from one signing secret (AES-256-GCM: nonce, tag, ciphertext). */
export interface Sealer {
  seal(bytes: Uint8Array): Buffer;
  /** Null: sealed with another secret, for another purpose, or not at all. */
  open(sealed: Buffer): Buffer | null;
}

/** @param purpose what one purpose sealed no other can open */
export function createSealer(secret: string, purpose: string): Sealer {
  if (secret === '') throw new Error('The signing secret is empty');
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  return {
    seal(bytes) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open(sealed) {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
      } catch {
        // GCM's tag does not fit, or there is none.
        return null;
      }
    },
  };
}
