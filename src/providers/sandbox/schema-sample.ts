import type { Random } from './random.js';
import { sampleOfPattern } from './pattern-sample.js';
import type { PatternBudget } from './pattern-sample.js';

/** A JSON Schema as clients send it; read leniently, as it is the caller's own. */
type Schema = Record<string, unknown>;

const DEEP = 4;
const MAX_DEPTH = 24;
const MAX_NODES = 5000;
const MAX_ITEMS = 100;
const MAX_LENGTH = 5000;
const MAX_PATTERN_STEPS = 40_000;

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

/** Makes one JSON value that a schema accepts. One object for each call, as it counts what it made. */
class Sampler {
  private nodes = 0;
  private resolved = 0;
  private readonly patterns: PatternBudget = { steps: MAX_PATTERN_STEPS };

  constructor(
    private readonly root: Schema,
    private readonly random: Random,
  ) {}

  sample(given: unknown, depth: number): unknown {
    if (!isSchema(given)) return 'sandbox';
    this.nodes++;
    const schema = this.resolve(given, depth);
    if ('const' in schema) return schema['const'];
    const options = schema['enum'];
    if (Array.isArray(options) && options.length > 0)
      return options[this.random.int(options.length)] as unknown;
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

  private get full(): boolean {
    return this.nodes > MAX_NODES;
  }

  /** Follows $ref and folds allOf and one branch of anyOf/oneOf into one schema. */
  private resolve(given: Schema, depth: number): Schema {
    // A schema that contains itself as one of its own parts has no end.
    if (depth > MAX_DEPTH * 2 || this.resolved++ > MAX_NODES * 2) return {};
    let schema = given;
    for (let hops = 0; typeof schema['$ref'] === 'string' && hops < 32; hops++) {
      const { $ref, ...rest } = schema;
      schema = { ...this.pointer($ref as string), ...rest };
    }
    const all = schema['allOf'];
    if (Array.isArray(all)) {
      const { allOf: _, ...rest } = schema;
      schema = all.filter(isSchema).reduce((sum, part) => merge(sum, this.resolve(part, depth + 1)), rest);
    }
    const any = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(any) && any.length > 0) {
      const { anyOf: _a, oneOf: _o, ...rest } = schema;
      schema = merge(rest, this.resolve(this.branch(any.filter(isSchema), depth), depth + 1));
    }
    return schema;
  }

  private branch(options: Schema[], depth: number): Schema {
    const simple =
      options.find((option) => option['type'] === 'null') ?? options.find((option) => !('$ref' in option));
    const chosen = depth >= DEEP || this.full ? (simple ?? options[0]) : options[0];
    return chosen ?? {};
  }

  private pointer(ref: string): Schema {
    if (!ref.startsWith('#')) return {};
    let at: unknown = this.root;
    for (const part of ref.slice(1).split('/').slice(1)) {
      const key = decodeURIComponent(part.replace(/%(?![0-9a-f]{2})/gi, '%25'))
        .replaceAll('~1', '/')
        .replaceAll('~0', '~');
      at =
        isSchema(at) && Object.hasOwn(at, key)
          ? at[key]
          : Array.isArray(at)
            ? (at[Number(key)] as unknown)
            : undefined;
    }
    return isSchema(at) ? at : {};
  }

  private typeOf(schema: Schema, depth: number): unknown {
    const type = schema['type'];
    if (Array.isArray(type)) {
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
    const required = new Set(
      (Array.isArray(schema['required']) ? schema['required'] : []).filter((key) => typeof key === 'string'),
    );
    const made: [string, unknown][] = [];
    for (const [key, value] of Object.entries(properties)) {
      if (depth >= MAX_DEPTH) break;
      if (required.has(key) || (depth < DEEP && !this.full)) made.push([key, this.sample(value, depth + 1)]);
      required.delete(key);
    }
    const rest = schema['additionalProperties'];
    if (depth < MAX_DEPTH) for (const key of required) made.push([key, this.sample(rest, depth + 1)]);
    const least = Math.min(numberOf(schema['minProperties']) ?? 0, MAX_ITEMS);
    for (let index = 1; made.length < least; index++)
      made.push([`sandbox_${index}`, this.sample(rest, depth + 1)]);
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
    for (let index = 0; index < wanted && this.nodes <= MAX_NODES * 2; index++) {
      const item = this.sample(prefix[index] ?? schema['items'] ?? schema['contains'], depth + 1);
      items.push(schema['uniqueItems'] === true ? distinct(items, item, index) : item);
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
    if (typeof pattern === 'string') return sampleOfPattern(pattern, this.random, this.patterns);
    const format = schema['format'];
    const text =
      (typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined) ??
      this.random.pick(WORDS);
    const least = Math.min(numberOf(schema['minLength']) ?? 0, MAX_LENGTH);
    return text.padEnd(least, ' sandbox').slice(0, numberOf(schema['maxLength']) ?? undefined);
  }
}

function distinct(items: unknown[], item: unknown, index: number): unknown {
  if (typeof item === 'number') return item + index;
  return items.includes(item) && typeof item === 'string' ? `${item} ${index}` : item;
}

function merge(first: Schema, second: Schema): Schema {
  const bothObjects = (key: string): Schema => ({
    ...(isSchema(first[key]) ? first[key] : {}),
    ...(isSchema(second[key]) ? second[key] : {}),
  });
  const required = [first['required'], second['required']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  return {
    ...first,
    ...second,
    ...('properties' in first || 'properties' in second ? { properties: bothObjects('properties') } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** A JSON value that fits the schema as far as the sandbox understands it (types, bounds, enums, references, formats, patterns). */
export function sampleOfSchema(schema: unknown, random: Random): unknown {
  return new Sampler(isSchema(schema) ? schema : {}, random).sample(schema, 0);
}
