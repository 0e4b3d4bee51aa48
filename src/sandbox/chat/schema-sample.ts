import type { Random } from '../random.js';
import { sampleOfPattern } from './pattern-sample.js';
import type { PatternBudget } from './pattern-sample.js';

/** A JSON Schema from a client, read leniently: unknown parts are ignored. */
type Schema = Record<string, unknown>;

const DEEP = 4;
const MAX_DEPTH = 24;
const MAX_NODES = 5000;
const MAX_ITEMS = 100;
const MAX_LENGTH = 5000;
const MAX_PATTERN_STEPS = 40_000;
/** The maximum of references in a chain. */
const MAX_HOPS = 32;
/** The maximum cost of one schema: a step for each part that is read and for every few characters that are written (some 20 ms in all). */
const MAX_STEPS = 60_000;
const CHARACTERS_PER_STEP = 32;

const FORMATS: Record<string, string> = {
  'date-time': '2026-01-01T12:00:00Z',
  date: '2026-01-01',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'sandbox@example.com',
  hostname: 'sandbox.example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/sandbox',
  uuid: '00000000-0000-4000-8000-000000000000',
};
const WORDS = ['sandbox', 'water', 'gate', 'river', 'meter', 'valve'] as const;

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The schema would take too long: it has too many references or demands too large a value. */
export class SchemaTooLargeError extends Error {
  constructor() {
    super('The schema is too large');
    this.name = 'SchemaTooLargeError';
  }
}

/** Makes one JSON value that a schema accepts. It counts its work, so each call needs a new one. */
class Sampler {
  private nodes = 0;
  private steps = MAX_STEPS;
  private readonly pointers = new Map<string, Schema>();
  private readonly patterns: PatternBudget = { steps: MAX_PATTERN_STEPS };

  constructor(
    private readonly root: Schema,
    private readonly random: Random,
  ) {}

  /** @throws SchemaTooLargeError if the schema used up its steps */
  private spend(steps: number): void {
    this.steps -= steps;
    if (this.steps < 0) throw new SchemaTooLargeError();
  }

  sample(given: unknown, depth: number): unknown {
    if (!isSchema(given)) return 'sandbox';
    this.nodes++;
    const schema = this.resolve(given, depth);
    if (Object.hasOwn(schema, 'const')) return this.constant(schema['const']);
    const options = schema['enum'];
    if (Array.isArray(options) && options.length > 0)
      return this.constant(options[this.random.int(options.length)] as unknown);
    switch (this.typeOf(schema, depth)) {
      case 'object':
        return this.object(schema, depth);
      case 'array':
        return this.array(schema, depth);
      case 'integer':
      case 'number':
        return this.number(schema);
      case 'boolean':
        return this.random.int(2) === 1;
      case 'null':
        return null;
      default:
        return this.text(schema);
    }
  }

  /** True once the value is large: only required parts are added then. */
  private get full(): boolean {
    return this.nodes > MAX_NODES || this.steps < MAX_STEPS / 2;
  }

  /** A value that the schema contains, whose cost counts each time it is used. */
  private constant(value: unknown): unknown {
    this.spend(1);
    if (typeof value === 'string') this.spend(value.length / CHARACTERS_PER_STEP);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      this.spend(value.length);
      for (const item of value as unknown[]) this.constant(item);
      return value as unknown;
    }
    for (const [key, item] of Object.entries(value)) {
      this.spend(key.length / CHARACTERS_PER_STEP);
      this.constant(item);
    }
    return value;
  }

  /** Follows $ref and folds allOf and one branch of anyOf/oneOf into one schema. */
  private resolve(given: Schema, depth: number): Schema {
    this.spend(1);
    // A schema that contains itself is endless.
    if (depth > MAX_DEPTH * 2) return {};
    let schema = given;
    for (let hops = 0; typeof schema['$ref'] === 'string' && hops < MAX_HOPS; hops++) {
      const { $ref, ...rest } = schema;
      schema = { ...this.pointer($ref as string), ...rest };
      this.spend(1 + membersOf(schema));
    }
    const all = schema['allOf'];
    if (Array.isArray(all)) {
      const { allOf: _, ...rest } = schema;
      const fold = new Fold(rest);
      for (const part of all as unknown[])
        if (isSchema(part)) this.spend(fold.add(this.resolve(part, depth + 1)));
      schema = fold.schema;
    }
    const any = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(any) && any.length > 0) {
      const { anyOf: _a, oneOf: _o, ...rest } = schema;
      this.spend(any.length / 4);
      const fold = new Fold(rest);
      this.spend(fold.add(this.resolve(this.branch(any.filter(isSchema), depth), depth + 1)));
      schema = fold.schema;
    }
    return schema;
  }

  private branch(options: Schema[], depth: number): Schema {
    const simple =
      options.find((option) => option['type'] === 'null') ?? options.find((option) => !('$ref' in option));
    const chosen = depth >= DEEP || this.full ? (simple ?? options[0]) : options[0];
    return chosen ?? {};
  }

  /** The target of a JSON pointer into this document; the empty schema, which accepts anything, if it has none. */
  private pointer(ref: string): Schema {
    const known = this.pointers.get(ref);
    if (known !== undefined) return known;
    this.spend(ref.length / 4);
    const found = ref.startsWith('#') ? this.follow(ref.slice(1).split('/').slice(1)) : undefined;
    const schema = isSchema(found) ? found : {};
    this.pointers.set(ref, schema);
    return schema;
  }

  private follow(parts: readonly string[]): unknown {
    let at: unknown = this.root;
    for (const part of parts) at = memberOf(at, keyOf(part));
    return at;
  }

  private typeOf(schema: Schema, depth: number): unknown {
    const type = schema['type'];
    if (Array.isArray(type)) {
      this.spend(type.length / CHARACTERS_PER_STEP);
      if (depth >= MAX_DEPTH && type.includes('null')) return 'null';
      return type.find((item) => item !== 'null') ?? type[0];
    }
    if (type !== undefined) return type;
    if ('properties' in schema || 'required' in schema) return 'object';
    if ('items' in schema || 'prefixItems' in schema) return 'array';
    return ['minimum', 'maximum', 'multipleOf', 'exclusiveMinimum'].some((key) => key in schema)
      ? 'number'
      : 'string';
  }

  private object(schema: Schema, depth: number): Record<string, unknown> {
    const properties = isSchema(schema['properties']) ? schema['properties'] : {};
    const names = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
    this.spend(names.length);
    const required = new Set(names.filter((key) => typeof key === 'string'));
    const made: [string, unknown][] = [];
    const add = (key: string, value: unknown): void => {
      this.spend(1 + key.length / CHARACTERS_PER_STEP);
      made.push([key, this.sample(value, depth + 1)]);
    };
    for (const [key, value] of Object.entries(properties)) {
      if (depth >= MAX_DEPTH) break;
      this.spend(1);
      if (required.has(key) || (depth < DEEP && !this.full)) add(key, value);
      required.delete(key);
    }
    const rest = schema['additionalProperties'];
    if (depth < MAX_DEPTH) for (const key of required) add(key, rest);
    const least = Math.min(numberOf(schema['minProperties']) ?? 0, MAX_ITEMS);
    for (let index = 1; made.length < least && depth < MAX_DEPTH; index++) add(`sandbox_${index}`, rest);
    return Object.fromEntries(made);
  }

  private array(schema: Schema, depth: number): unknown[] {
    const least = Math.min(numberOf(schema['minItems']) ?? 0, MAX_ITEMS);
    const most = numberOf(schema['maxItems']) ?? Number.POSITIVE_INFINITY;
    const prefix = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : [];
    const wanted =
      depth >= DEEP || this.full ? least : Math.max(least, Math.min(most, Math.max(prefix.length, 1)));
    if (depth >= MAX_DEPTH) return [];
    const items: unknown[] = [];
    const seen = new Set<unknown>();
    for (let index = 0; index < wanted && this.nodes <= MAX_NODES * 2; index++) {
      const item = this.sample(prefix[index] ?? schema['items'] ?? schema['contains'], depth + 1);
      items.push(schema['uniqueItems'] === true ? distinct(seen, item, index) : item);
    }
    return items;
  }

  private number(schema: Schema): number {
    const step = numberOf(schema['multipleOf']) ?? (schema['type'] === 'integer' ? 1 : 0.5);
    const above = numberOf(schema['exclusiveMinimum']);
    const below = numberOf(schema['exclusiveMaximum']);
    const least = numberOf(schema['minimum']) ?? (above === undefined ? undefined : above + step / 2);
    const most = numberOf(schema['maximum']) ?? (below === undefined ? undefined : below - step / 2);
    const low = least ?? (most === undefined ? 1 : most - 10 * step);
    const high = most ?? low + 10 * step;
    const first = Math.ceil(low / step);
    const last = Math.floor(high / step);
    if (last < first) return (low + high) / 2;
    return Number(((first + this.random.int(Math.min(last - first, 1000) + 1)) * step).toPrecision(12));
  }

  private text(schema: Schema): string {
    const pattern = schema['pattern'];
    if (typeof pattern === 'string')
      return this.written(sampleOfPattern(pattern, this.random, this.patterns));
    const format = schema['format'];
    const text =
      (typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined) ??
      this.random.pick(WORDS);
    const least = Math.min(numberOf(schema['minLength']) ?? 0, MAX_LENGTH);
    return this.written(text.padEnd(least, ' sandbox').slice(0, numberOf(schema['maxLength']) ?? undefined));
  }

  private written(text: string): string {
    this.spend(1 + text.length / CHARACTERS_PER_STEP);
    return text;
  }
}

function distinct(seen: Set<unknown>, item: unknown, index: number): unknown {
  const other =
    typeof item === 'number'
      ? item + index
      : typeof item === 'string' && seen.has(item)
        ? `${item} ${index}`
        : item;
  seen.add(other);
  return other;
}

/** Decodes a name in a JSON pointer: percent-encoding, `~0` and `~1`. Names without encoding are returned unchanged. */
function keyOf(part: string): string {
  let key = part;
  try {
    key = decodeURIComponent(part);
  } catch {
    // Not UTF-8, or a lone percent sign.
  }
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Returns own members only, so that `__proto__` is undefined unless the document defines it. */
function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

/** Sets a member whatever its name is: an assignment to `__proto__` would do something else. */
function setOwn(schema: Schema, key: string, value: unknown): void {
  if (key !== '__proto__') schema[key] = value;
  else Object.defineProperty(schema, key, { value, enumerable: true, configurable: true, writable: true });
}

function membersOf(schema: Schema): number {
  let count = 0;
  for (const _ in schema) count++;
  return count;
}

/** Merges schemas that all apply: later ones win, except that `properties` and `required` are combined. Never copies what is merged already. */
class Fold {
  readonly schema: Schema;
  private required: unknown[] | null = null;
  private properties: Schema | null = null;

  constructor(first: Schema) {
    this.schema = { ...first };
  }

  /** @returns the cost: a step for each member */
  add(part: Schema): number {
    const { properties, required, ...rest } = part;
    for (const [key, value] of Object.entries(rest)) setOwn(this.schema, key, value);
    return 1 + membersOf(rest) + this.addProperties(properties) + this.addRequired(required);
  }

  private addProperties(more: unknown): number {
    if (!isSchema(more)) return 0;
    let cost = 0;
    if (this.properties === null) {
      const own = this.schema['properties'];
      this.properties = isSchema(own) ? { ...own } : {};
      this.schema['properties'] = this.properties;
      cost = membersOf(this.properties);
    }
    for (const [key, value] of Object.entries(more)) {
      setOwn(this.properties, key, value);
      cost++;
    }
    return cost;
  }

  private addRequired(more: unknown): number {
    if (!Array.isArray(more)) return 0;
    if (this.required === null) {
      const own = this.schema['required'];
      this.required = Array.isArray(own) ? [...(own as unknown[])] : [];
      this.schema['required'] = this.required;
    }
    for (const key of more as unknown[]) this.required.push(key);
    return more.length;
  }
}

/**
 * A JSON value that fits the schema as far as the sandbox understands it (types, bounds, enums, references, formats, patterns).
 * @throws SchemaTooLargeError
 */
export function sampleOfSchema(schema: unknown, random: Random): unknown {
  return new Sampler(isSchema(schema) ? schema : {}, random).sample(schema, 0);
}
