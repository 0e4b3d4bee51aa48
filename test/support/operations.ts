import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isUnionType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql';

export interface RandomOperation {
  query: string;
  variables: Record<string, unknown>;
}

const TEXTS = [
  '',
  'a mill',
  '__proto__',
  'constructor',
  '../x',
  "' OR 1=1 --",
  '\u0001\u007f\u202e\uffff',
  '😀'.repeat(400),
  'x'.repeat(12_000),
  'http://169.254.169.254/',
  'file:///etc/passwd',
  'data:image/png;base64,AAAA',
  'sandbox/chat-basic',
  'no/such/model',
  '1024x1024',
  '2x',
  'user',
  '9999-99-99',
  '1e400',
  '@sandbox{"__proto__":{"fail":"x"}}',
  '@sandbox{',
  'a\u0000b',
  'a\ud800b',
];
const NUMBERS = [0, 1, 2, -1, 1.5, 100, 101, 2 ** 31, -(2 ** 31), 2 ** 53, 1e308, -0];
const DIRECTIVES = ['@skip(if: false)', '@skip(if: true)', '@include(if: 1)', '@defer', '@skip'];
/** Fields that wait are excluded, because waiting is not tested here. */
const FIXED: Record<string, string> = { async: 'true', poll: 'false' };
const MAX_DEPTH = 4;

/** Random operations over a schema, valid and nearly valid, with hostile values; the same operations for the same `random`. */
export class OperationGenerator {
  #definitions: string[] = [];
  #variables: Record<string, unknown> = {};

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly random: () => number,
  ) {}

  operation(kind: 'query' | 'mutation' | 'subscription'): RandomOperation {
    this.#definitions = [];
    this.#variables = {};
    const fields = Object.values(this.schema.getRootType(kind as never)!.getFields());
    const count = kind === 'subscription' ? 1 : 1 + this.#below(3);
    const roots = Array.from({ length: count }, (_, i) => `f${i}: ${this.#field(this.#pick(fields), 1)}`);
    const definitions = this.#definitions.length > 0 ? `(${this.#definitions.join(', ')})` : '';
    return { query: `${kind} X${definitions} { ${roots.join(' ')} }`, variables: this.#variables };
  }

  #below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  #chance(share: number): boolean {
    return this.random() < share;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!;
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const directive = this.#chance(0.02) ? ` ${this.#pick(DIRECTIVES)}` : '';
    return `${field.name}${this.#arguments(field)}${directive} ${this.#selection(getNamedType(field.type), depth)}`;
  }

  #arguments({ args }: GraphQLField<unknown, unknown>): string {
    const given = args.flatMap(({ name, type, defaultValue }) => {
      if (FIXED[name] !== undefined) return [`${name}: ${FIXED[name]}`];
      const required = isNonNullType(type) && defaultValue === undefined;
      if (!this.#chance(required ? 0.98 : 0.4)) return [];
      const variable = `v${this.#definitions.length}`;
      this.#definitions.push(`$${variable}: ${String(type)}`);
      this.#variables[variable] = this.#value(type, 0);
      return [`${name}: $${variable}`];
    });
    return given.length > 0 ? `(${given.join(', ')})` : '';
  }

  #selection(type: GraphQLNamedType, depth: number): string {
    if (isLeafType(type)) return '';
    if (isUnionType(type))
      return `{ __typename ${type
        .getTypes()
        .map((member) => `... on ${member.name} ${this.#selection(member, depth + 1)}`)
        .join(' ')} }`;
    const fields = Object.values((type as { getFields(): object }).getFields()) as GraphQLField<
      unknown,
      unknown
    >[];
    const chosen = fields.filter(
      ({ type: inner }) => isLeafType(getNamedType(inner)) || (depth < MAX_DEPTH && this.#chance(0.5)),
    );
    return `{ __typename ${chosen.map((field) => this.#field(field, depth + 1)).join(' ')} }`;
  }

  #value(type: GraphQLInputType, depth: number): unknown {
    if (this.#chance(0.03)) return this.#json(0);
    if (isNonNullType(type)) return this.#value(type.ofType as GraphQLInputType, depth);
    if (this.#chance(0.1)) return null;
    if (isListType(type)) {
      const length = this.#chance(0.02) ? 10_000 : this.#below(3);
      return Array.from({ length }, () => this.#value(type.ofType as GraphQLInputType, depth + 1));
    }
    if (isEnumType(type)) return this.#pick(type.getValues()).name;
    if (isInputObjectType(type)) {
      const wanted = Object.values(type.getFields()).filter(
        (field) => isNonNullType(field.type) || this.#chance(depth > 1 ? 0.1 : 0.3),
      );
      return Object.fromEntries(wanted.map((field) => [field.name, this.#value(field.type, depth + 1)]));
    }
    if (type.name === 'Boolean') return this.#chance(0.5);
    if (['Int', 'Float', 'SafeInt'].includes(type.name)) return this.#pick(NUMBERS);
    return type.name === 'JSON' || type.name === '_Any' ? this.#json(0) : this.#pick(TEXTS);
  }

  #json(depth: number): unknown {
    const kind = this.#below(depth > 3 ? 4 : 7);
    if (kind < 2) return this.#pick(TEXTS);
    if (kind === 2) return this.#pick(NUMBERS);
    if (kind === 3) return null;
    if (kind === 4) return Array.from({ length: this.#below(4) }, () => this.#json(depth + 1));
    if (kind === 5 && this.#chance(0.1)) return JSON.parse('['.repeat(600) + ']'.repeat(600)) as unknown;
    const names = [
      '__proto__',
      '__typename',
      'id',
      'type',
      'text',
      'image_url',
      'url',
      'function',
      'toString',
    ];
    return JSON.parse(
      `{${names
        .filter(() => this.#chance(0.4))
        .map((name) => `${JSON.stringify(name)}:${JSON.stringify(this.#json(depth + 1))}`)
        .join(',')}}`,
    ) as unknown;
  }
}
