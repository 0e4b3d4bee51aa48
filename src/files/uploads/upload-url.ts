import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const PATH = /^\/files\/([a-z]+_[0-9a-z]{26})\/(file_[0-9a-z]{26})\/upload$/;
const DIGITS = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

export interface UploadAddress {
  orgId: string;
  fileId: string;
  /** Unix seconds. */
  expires: number;
}

/**
 * Addresses that take a file's bytes: `/files/<organisation>/<file>/upload?expires=<Unix seconds>&signature=<hex HMAC-SHA256>`. Their keys are
 * others than those of the addresses that give files, so that neither opens the other.
 */
export interface UploadSigner {
  /** Path and query. */
  sign(address: UploadAddress): string;
  /** Null: a path of something else. */
  verify(url: string): { kind: 'valid'; address: UploadAddress } | { kind: 'forged' } | null;
}

const keyOf = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'penstock upload urls', 32)));

/** @param secrets the current one, and the previous one during a change (verification only). */
export function createUploadSigner(
  secrets: { current: string; previous: string | null },
  now: () => number = Date.now,
): UploadSigner {
  const current = keyOf(secrets.current);
  const accepted = [current, ...(secrets.previous === null ? [] : [keyOf(secrets.previous)])];
  const signatureOf = (key: KeyObject, { orgId, fileId, expires }: UploadAddress) =>
    createHmac('sha256', key).update(`${orgId}\n${fileId}\n${expires}`).digest();
  return {
    sign(address) {
      const { orgId, fileId, expires } = address;
      const signature = signatureOf(current, address).toString('hex');
      return `/files/${orgId}/${fileId}/upload?expires=${expires}&signature=${signature}`;
    },
    verify(url) {
      const [pathname = '', query = ''] = url.split('?');
      const [, orgId, fileId] = PATH.exec(pathname) ?? [];
      if (orgId === undefined || fileId === undefined) return null;
      const given = new URLSearchParams(query);
      const [expires = '', ...moreExpires] = given.getAll('expires');
      const [signature = '', ...more] = given.getAll('signature');
      const isFormed = DIGITS.test(expires) && SIGNATURE.test(signature);
      if (!isFormed || moreExpires.length > 0 || more.length > 0) return { kind: 'forged' };
      const address = { orgId, fileId, expires: Number(expires) };
      const bytes = Buffer.from(signature, 'hex');
      // Compares with every accepted key, so that the time does not reveal which one matches.
      const matches = accepted.filter((key) => timingSafeEqual(signatureOf(key, address), bytes));
      if (matches.length === 0 || address.expires * 1000 <= now()) return { kind: 'forged' };
      return { kind: 'valid', address };
    },
  };
}
