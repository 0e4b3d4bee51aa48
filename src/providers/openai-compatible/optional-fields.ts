import { LRUCache } from 'lru-cache';
import { UpstreamError } from '../providers.types.js';

/** Fields of a request that may be left out, each with further words that a refusal may know it by. */
export type OptionalFields = Readonly<Record<string, readonly string[]>>;

/** The fields that a request is sent without. */
export type LeftOut = ReadonlySet<string>;

/** Models that are remembered, and fields that one call finds out about. */
const MAX_MODELS = 1000;
const MAX_TRIES = 4;
const NOTHING: LeftOut = new Set();

interface Asked {
  path: string;
  modelId: string;
  /** Which fields may go: what Penstock adds by itself, and what asks for nothing or changes no answer. */
  optional(): OptionalFields;
}

/**
 * The optional fields that the models of one upstream refuse. A refusal that names an optional field is answered by one more try without it, under the same
 * reservation; a model that takes that is not asked for the field again while the process lives.
 */
export class RefusedFields {
  private readonly known = new LRUCache<string, LeftOut>({ max: MAX_MODELS });

  /** @param omitted fields that the configuration says a model is never sent */
  constructor(private readonly omitted: (modelId: string) => readonly string[] = () => []) {}

  /** Whether a model's entry says that it is never sent a field. */
  isOmitted(modelId: string, name: string): boolean {
    return this.omitted(modelId).includes(name);
  }

  /** @throws UpstreamError what `attempt` throws */
  send<T>(requested: Asked, attempt: (without: LeftOut) => Promise<T>): Promise<T> {
    const without = this.withoutFor(requested);
    return attempt(without).catch((error: unknown) => this.again(requested, { without, error, attempt }));
  }

  private withoutFor({ path, modelId, optional }: Asked): LeftOut {
    const refused = this.known.get(keyOf(path, modelId));
    const omitted = this.omitted(modelId);
    if (refused === undefined) return omitted.length === 0 ? NOTHING : new Set(omitted);
    // A field that this call needs is sent all the same, and the caller gets the refusal.
    const fields = optional();
    return new Set([...omitted, ...[...refused].filter((name) => Object.hasOwn(fields, name))]);
  }

  private async again<T>(
    { path, modelId, optional }: Asked,
    first: { without: LeftOut; error: unknown; attempt: (without: LeftOut) => Promise<T> },
  ): Promise<T> {
    let { without, error } = first;
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      const named = namedIn(error, optional(), without);
      if (named.length === 0) throw error;
      without = new Set([...without, ...named]);
      try {
        const answer = await first.attempt(without);
        const key = keyOf(path, modelId);
        this.known.set(key, new Set([...(this.known.get(key) ?? []), ...without]));
        return answer;
      } catch (next) {
        error = next;
      }
    }
    throw error;
  }
}

const keyOf = (path: string, modelId: string): string => `${path} ${modelId}`;

function namedIn(error: unknown, optional: OptionalFields, without: LeftOut): string[] {
  if (!(error instanceof UpstreamError)) return [];
  return Object.keys(optional).filter(
    (name) =>
      !without.has(name) &&
      [name, ...(optional[name] ?? [])].some((word) => error.names(word)) &&
      // A cap may be named because it is too large, and an answer without any could cost more than was reserved.
      (!CAPS.includes(name) || error.reportsUnsupported() || CAPS.every((cap) => error.names(cap))),
  );
}

const CAPS = ['max_tokens', 'max_completion_tokens'];

/** A request's fields without some of them. */
export function fieldsWithout<T extends object>(fields: T, without: LeftOut): T {
  if (without.size === 0) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !without.has(name))) as T;
}

/** The key of a request that is sent once more without some fields: another body under one key is refused. */
export function keyWithout(key: string | undefined, without: LeftOut): string | undefined {
  return key === undefined || without.size === 0 ? key : `${key}-without-${[...without].join('-')}`;
}
