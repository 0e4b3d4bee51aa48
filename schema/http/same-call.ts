import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { nextSlice } from '../../src/collections/time-slicer.js';
import type { IdempotentRequest } from '../../src/http/index.js';
import type { GraphqlRequest } from './request.js';

/** Characters and values that are hashed before the event loop gets its turn: about a millisecond. */
const SLICE = 262_144;
const COST_OF_VALUE = 64;

/**
 * What makes two mutations the same call: the document, its operation and its variables, however a client or a router writes them down
 * (beyond 14.7). A digest, made in slices: variables may hold files.
 */
export async function sameCallOf({
  query,
  operationName,
  variables,
}: GraphqlRequest): Promise<Pick<IdempotentRequest, 'method' | 'path' | 'query' | 'body'>> {
  const hash = createHash('sha256');
  let cost = 0;
  for (const text of spelled([query, operationName ?? null, variables ?? {}])) {
    cost += COST_OF_VALUE + text.length;
    for (let from = 0; from < text.length; from += SLICE) {
      update(hash, text, from);
      if (cost < SLICE) continue;
      cost = 0;
      await nextSlice();
    }
  }
  return { method: 'POST', path: '/graphql', query: '', body: hash.digest() };
}

/** As UTF-16, in which no cut between two units changes anything. */
function update(hash: Hash, text: string, from: number): void {
  hash.update(text.slice(from, from + SLICE), 'utf16le');
}

/** A value in pieces that no other value has: names are sorted, and each text stands behind its length. */
function* spelled(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    yield `s${value.length}:`;
    yield value;
  } else if (Array.isArray(value)) {
    yield `a${value.length}:`;
    for (const item of value) yield* spelled(item);
  } else if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort();
    yield `o${names.length}:`;
    for (const name of names) {
      yield* spelled(name);
      yield* spelled((value as Record<string, unknown>)[name]);
    }
  } else yield `${String(value)};`;
}
