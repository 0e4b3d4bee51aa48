import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { ApiError, invalid } from '../../contract/errors.js';

/** The cost of scrypt: 32 MB and some tenths of a second for each guess. */
const COST = { N: 2 ** 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MAX_MEMORY = 128 * 1024 * 1024;
/** Derivations that run at once. Node's thread pool has four threads, and file access needs them too. */
const AT_ONCE = 2;
/** Most derivations that may wait: some ten seconds of work. Further ones are refused with Retry-After. */
const MAX_WAITING = 100;

export const MIN_PASSWORD = 12;
export const MAX_PASSWORD = 200;

/** @throws ApiError invalid_request */
export function checkPassword(password: unknown, param = 'password'): string {
  const length = typeof password === 'string' ? [...password].length : 0;
  if (typeof password !== 'string' || length < MIN_PASSWORD || length > MAX_PASSWORD)
    throw invalid(`${param} must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`, param);
  return password;
}

let running = 0;
const waiting: (() => void)[] = [];

/** Runs a few derivations at a time; the rest wait in a queue. @throws ApiError unavailable if the queue is full */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= MAX_WAITING)
    throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 10 });
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

interface Derivation {
  password: string;
  salt: Buffer;
  length: number;
  cost: { N: number; r: number; p: number };
}

/** A key of `length` bytes. */
function derive({ password, salt, length, cost }: Derivation): Promise<Buffer> {
  const options = { ...cost, maxmem: MAX_MEMORY };
  return inTurn(
    () =>
      new Promise((resolve, reject) => {
        scrypt(normal(password), salt, length, options, (error, key) =>
          error ? reject(error) : resolve(key),
        );
      }),
  );
}

/** Normalises a password: different keyboards can compose the same text from different code points. */
const normal = (password: string): string => password.normalize('NFKC');

/**
 * `scrypt$N$r$p$salt$hash`, the last two in base64url.
 * @param beside another stored password of the same person: both get the same salt, so that checking a guess against both costs one derivation
 */
export async function hashPassword(password: string, beside: string | null = null): Promise<string> {
  const [, , , , known = ''] = (beside ?? '').split('$');
  const salt = known === '' ? randomBytes(SALT_BYTES) : Buffer.from(known, 'base64url');
  const hash = await derive({ password, salt, length: HASH_BYTES, cost: COST });
  const { N, r, p } = COST;
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/**
 * Finds which of a person's stored passwords matches. It takes the same time without any stored password, so that nobody can find out who has
 * one.
 */
export async function matchPassword<T extends { stored: string }>(
  password: string,
  candidates: readonly T[],
): Promise<T[]> {
  const derived = new Map<string, Promise<Buffer>>();
  const isRight = async (stored: string): Promise<boolean> => {
    const at = stored.lastIndexOf('$');
    const [, N, r, p, salt = ''] = stored.split('$');
    const expected = Buffer.from(stored.slice(at + 1), 'base64url');
    const cost = { N: Number(N), r: Number(r), p: Number(p) };
    const given =
      derived.get(stored.slice(0, at)) ??
      derive({ password, salt: Buffer.from(salt, 'base64url'), length: expected.length, cost });
    derived.set(stored.slice(0, at), given);
    return timingSafeEqual(await given, expected);
  };
  if (candidates.length === 0) await isRight(NOBODYS);
  const right = await Promise.all(candidates.map(({ stored }) => isRight(stored)));
  return candidates.filter((_, at) => right[at]);
}

const NOBODYS = ['scrypt', COST.N, COST.r, COST.p, 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(43)].join('$');
