import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { FileKey } from './store.types.js';

const DAY_SECONDS = 86_400;
const LIFETIME_DAYS = 7;
const REMEMBERED = 2_000;
const PATH = /^\/files\/([a-z]+_[0-9a-z]{26})\/(file_[0-9a-z]{26})\.([a-z0-9]{1,8})$/;
const DIGITS = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
/** A run of characters that can be part of a URL; an address inside a text ends there at the latest. */
const TOGETHER = /[^\s"'<>()[\]{}`\\|]+/g;
/** The path and query of a signed address within such a run. */
const SIGNED =
  /\/files\/[a-z]+_[0-9a-z]{26}\/file_[0-9a-z]{26}\.[a-z0-9]{1,8}\?expires=\d{1,12}&signature=[0-9a-f]{64}(?!\w)/g;

/** The verdict on a URL: a file, or why not (not ours, wrong signature, expired). */
export type UrlVerdict =
  | { kind: 'valid'; key: FileKey; expires: number }
  | { kind: 'expired'; key: FileKey; expires: number }
  | { kind: 'unknown' }
  | { kind: 'forged' };

/**
 * Signed file addresses: `/files/<organisation>/<file>.<extension>?expires=<Unix seconds>&signature=<hex HMAC-SHA256>`.
 * The signature binds organisation, file, extension and expiry, under keys derived from the signing secrets.
 */
export interface UrlSigner {
  /** Path and query. The expiry is 7 days ahead, rounded up to a day, so that equal answers stay equal for a day. */
  sign(key: FileKey): string;
  verify(pathname: string, query: URLSearchParams): UrlVerdict;
  /**
   * Renews the organisation's signed addresses inside a text, if they were valid `at` that time. All other addresses stay unchanged, also one
   * that contains a signed address as a part: otherwise another host would receive a new signature.
   * @param those `base`: the address before their path
   */
  renew(text: string, those: RenewedAddresses): string;
}

export interface RenewedAddresses {
  base: string;
  orgId: string;
  at: Date;
}

function keyOf(secret: string): KeyObject {
  if (secret === '') throw new Error('The signing secret is empty');
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'penstock file urls', 32)));
}

/** Parses the path of a stored file; null for any other path. */
export function parseFilePath(pathname: string): FileKey | null {
  const [, orgId, id, extension] = PATH.exec(pathname) ?? [];
  return orgId === undefined || id === undefined || extension === undefined ? null : { orgId, id, extension };
}

/** @param secrets the current one, and the previous one during a change (verification only). */
export function createUrlSigner(
  secrets: { current: string; previous: string | null },
  now: () => number = Date.now,
): UrlSigner {
  const current = keyOf(secrets.current);
  const accepted = [current, ...(secrets.previous === null ? [] : [keyOf(secrets.previous)])];
  // Clients that poll a job or list files need the same address again, which stays equal for a day.
  const signatures = new LRUCache<string, string>({ max: REMEMBERED });
  const signatureOf = (signingKey: KeyObject, key: FileKey, expires: number) =>
    createHmac('sha256', signingKey).update(`${key.orgId}\n${key.id}\n${key.extension}\n${expires}`).digest();

  const signer: UrlSigner = {
    sign(key) {
      const expires = (Math.ceil(now() / 1000 / DAY_SECONDS) + LIFETIME_DAYS) * DAY_SECONDS;
      const path = `/files/${key.orgId}/${key.id}.${key.extension}?expires=${expires}`;
      let signature = signatures.get(path);
      if (signature === undefined) {
        signature = signatureOf(current, key, expires).toString('hex');
        signatures.set(path, signature);
      }
      return `${path}&signature=${signature}`;
    },
    verify(pathname, query) {
      const key = parseFilePath(pathname);
      if (key === null) return { kind: 'unknown' };
      const [expiresText = '', ...moreExpires] = query.getAll('expires');
      const [signature = '', ...moreSignatures] = query.getAll('signature');
      if (moreExpires.length > 0 || moreSignatures.length > 0) return { kind: 'forged' };
      if (!DIGITS.test(expiresText) || !SIGNATURE.test(signature)) return { kind: 'forged' };
      const expires = Number(expiresText);
      const given = Buffer.from(signature, 'hex');
      // Compares with every accepted key, so that the time does not reveal which one matches.
      const matches = accepted.filter((accept) => timingSafeEqual(signatureOf(accept, key, expires), given));
      if (matches.length === 0) return { kind: 'forged' };
      return { kind: expires * 1000 <= now() ? 'expired' : 'valid', key, expires };
    },
    renew(text, { base, orgId, at }) {
      if (!text.includes('&signature=')) return text;
      const beforeHost = base.indexOf('://');
      const renewOne = (address: string): string => {
        const [pathname = '', query] = address.split('?');
        const verdict = signer.verify(pathname, new URLSearchParams(query));
        if (verdict.kind === 'unknown' || verdict.kind === 'forged') return address;
        const { key, expires } = verdict;
        return key.orgId === orgId && expires * 1000 > at.getTime() ? signer.sign(key) : address;
      };
      return text.replace(TOGETHER, (some) => {
        if (!some.includes('&signature=') || !some.startsWith(base, some.indexOf('://') - beforeHost))
          return some;
        return some.replace(SIGNED, (address, offset: number) =>
          some.startsWith(base, offset - base.length) ? renewOne(address) : address,
        );
      });
    },
  };
  return signer;
}
