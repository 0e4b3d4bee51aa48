import { createHash } from 'node:crypto';
import { ApiError, invalid } from '../contract/errors.js';
import type { IdempotentRequest } from './idempotency.types.js';

const MAX_KEY_LENGTH = 255;

/** @throws ApiError invalid_request for an empty `Idempotency-Key` and for one over 255 characters */
export function checkIdempotencyKey(key: string): void {
  if (key.trim() === '') throw invalid('Idempotency-Key must not be empty', 'Idempotency-Key');
  if (key.length > MAX_KEY_LENGTH) {
    throw invalid(`Idempotency-Key must have at most ${MAX_KEY_LENGTH} characters`, 'Idempotency-Key');
  }
}

/** SHA-256 of method, path, query and body, each with its length, so that different requests never give the same input. */
export function fingerprintOf(
  request: Pick<IdempotentRequest, 'method' | 'path' | 'query' | 'body'>,
): Buffer {
  const hash = createHash('sha256');
  for (const part of [request.method, request.path, request.query]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.update(`${request.body.length}:`).update(request.body).digest();
}

/**
 * The key under which a request is stored. A header cannot contain a line break, so a key with one cannot collide with a caller's key. Client
 * tokens of one object and one end user share their keys, so that a renewed token may retry, and no browser gets an answer that is another's.
 */
export function storedKey(
  { key, sharesKey, call: { principal } }: Pick<IdempotentRequest, 'key' | 'sharesKey' | 'call'>,
  fingerprint: Buffer,
): string {
  const { token, stamps } = principal;
  const owner =
    token === undefined ? '' : `\n${JSON.stringify([token.bound?.id ?? null, stamps?.endUser ?? null])}`;
  return sharesKey === true ? `${key}${owner}\n${fingerprint.toString('base64url')}` : key + owner;
}

export function inFlight(): ApiError {
  return new ApiError('conflict', 'A request with this Idempotency-Key is still in flight', {
    retryAfter: 1,
  });
}
