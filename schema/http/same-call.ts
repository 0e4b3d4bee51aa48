import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { nextSlice } from '../../src/collections/time-slicer.js';
import type { IdempotentRequest } from '../../src/http/index.js';
import type { GraphqlRequest } from './request.js';

/** Characters and values that are hashed before the event loop gets its turn: about a millisecond. */
const SLICE = 262_144;
const COST_OF_VALUE = 64;

/**
 * Identifies equal mutations: by the document, its operation and its variables, regardless of how a client or a router formats them
 * (beyond 14.7). The digest is computed in slices, because variables may contain files.
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

/** As UTF-16, in which a text can be cut between any two units. */
function update(hash: Hash, text: string, from: number): void {
  hash.update(text.slice(from, from + SLICE), 'utf16le');
}

/**
 * The pieces of a value, which are unique to it: names are sorted, and each text follows its length. A list of open values instead of generators in
 * generators, in which each piece of a deep value passes through all levels.
 */
function* spelled(root: unknown): Generator<string> {
  const open: Iterator<unknown>[] = [[root].values()];
  while (open.length > 0) {
    const { done, value } = (open.at(-1) as Iterator<unknown>).next();
    if (done === true) open.pop();
    else if (typeof value === 'string') {
      yield `s${value.length}:`;
      yield value;
    } else if (Array.isArray(value)) {
      yield `a${value.length}:`;
      open.push(value.values());
    } else if (typeof value === 'object' && value !== null) {
      const names = Object.keys(value).sort();
      yield `o${names.length}:`;
      open.push(members(value as Record<string, unknown>, names));
    } else yield `${String(value)};`;
  }
}

/** Each name and its value, one after the other. */
function* members(fields: Record<string, unknown>, names: readonly string[]): Generator<unknown> {
  for (const name of names) {
    yield name;
    yield fields[name];
  }
}
