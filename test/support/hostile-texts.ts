/** A value that needs more work than its size suggests, with its name. */
export interface Hostile<Value = unknown> {
  form: string;
  value: Value;
}

const filled = (piece: string, length: number): string =>
  piece
    .repeat(Math.ceil(length / piece.length))
    .slice(0, length)
    .toWellFormed();

/** The repeated texts: characters of one class, of two classes that patterns distinguish, and beginnings of matches. */
const PIECES: readonly (readonly [string, string])[] = [
  ['one letter', 'a'],
  ['capitals', 'A'],
  ['combining marks', '\u0301'],
  ['marks on one letter in turns', 'a\u0301\u0302'],
  ['Zalgo', 'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334'],
  ['Arabic', '\u0627\u0644\u0639'],
  ['Thai', '\u0e01\u0e33'],
  ['Devanagari', '\u0915\u094d\u0937'],
  ['Han', '\u6f22\u5b57'],
  ['emoji joined', '\u{1f469}\u200d\u{1f469}\u200d'],
  ['flags', '\u{1f1e9}\u{1f1ea}'],
  ['right-to-left marks', '\u202e\u202d'],
  ['zero width joiners', '\u200d'],
  ['blanks', ' '],
  ['no-break spaces', '\u00a0'],
  ['line breaks', '\n'],
  ['carriage returns', '\r'],
  ['blank lines', ' \n'],
  ['tabs and letters', '\ta'],
  ['digits', '7'],
  ['numbers with commas', '1, '],
  ['points and digits', '1.'],
  ['punctuation', '!'],
  ['slashes', '/'],
  ['slashes and line breaks', '/\n'],
  ['equals signs', '='],
  ['quotes', '"'],
  ['backslashes', '\\'],
  ['apostrophes', "x'"],
  ['opening brackets', '['],
  ['pictures in brackets', '![]('],
  ['attachments that do not end', '[Attached image: '],
  ['marks that do not end', '<untrusted source="'],
  ['untrusted parts that do not end', '<untrusted source="a">\n'],
  ['addresses', 'http://'],
  ['tags', '<a'],
  ['a tag without end', '<aaaa'],
  ['comments', '<!--'],
  ['a notice that does not end', 'This is the Penstock sandbox ('],
  ['words', 'with a '],
  ['as a', ' as a'],
  ['polite', 'please '],
  ['by the', ' by the '],
  ['capitals and digits', 'Aa1'],
  ['CamelCase', 'aB'],
  ['sentences', 'I am. '],
  ['mixed scripts', 'a\u0430\u03b1'],
  ['lone high surrogates, replaced', '\ufffd'],
  ['private use', '\ue000'],
];

/** Texts of about the given number of characters. */
export const longTexts = (length: number): Hostile<string>[] =>
  PIECES.map(([form, piece]) => ({ form, value: filled(piece, length) }));

const PNG_HEAD = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';

/** Base64 of about the given number of characters, with usual and unusual line breaks. */
export function spacedBase64(length: number): Hostile<string>[] {
  const of = (form: string, piece: string): Hostile<string> => ({
    form,
    value: PNG_HEAD + filled(piece, length),
  });
  return [
    of('a line break after each digit', 'A\n'),
    of('CR LF after each digit', 'A\r\n'),
    of('a line break after 76', `${'A'.repeat(76)}\r\n`),
    of('line breaks alone', '\n'),
    of('blanks', 'A '),
    of('equals signs', '='),
    of('equals signs and digits', '=A'),
    of('both alphabets', '+-'),
    of('no base64', '\u00e9'),
    { form: 'a wrong last character', value: `${PNG_HEAD}${filled('A', length)}!` },
    { form: 'blanks at the end', value: `${PNG_HEAD}${filled(' ', length)}` },
    { form: 'blanks, then a letter', value: `${PNG_HEAD}${filled(' ', length)}!` },
  ];
}

const numbered = <Value>(count: number, value: (at: number) => Value): Record<string, Value> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value(at)]));

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
};

/** JSON Schemas that are large, or small with much work. */
export function schemas(): Hostile[] {
  const doubled = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  );
  return [
    {
      form: '4,000 keys and an allOf of 40,000',
      value: {
        type: 'object',
        properties: numbered(4000, () => ({})),
        allOf: Array.from({ length: 40_000 }, () => ({})),
      },
    },
    {
      form: 'an allOf of 1,000 of 100 properties',
      value: {
        allOf: Array.from({ length: 1000 }, (_, part) => ({
          properties: numbered(100, (at) => ({ const: part + at })),
        })),
      },
    },
    {
      form: 'an allOf of 20,000 with one requirement',
      value: { allOf: Array.from({ length: 20_000 }, (_, at) => ({ required: [`r${at}`] })) },
    },
    {
      form: 'additionalProperties that recurse',
      value: { type: 'object', required: ['a', 'b', 'c'], additionalProperties: { $ref: '#' } },
    },
    {
      form: 'minProperties that recurse',
      value: { minProperties: 100, type: 'object', additionalProperties: { $ref: '#' } },
    },
    { form: 'items that recurse', value: { type: 'array', minItems: 100, items: { $ref: '#' } } },
    {
      form: 'properties that recurse',
      value: {
        type: 'object',
        required: ['a', 'b', 'c', 'd'],
        properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' }, d: { $ref: '#' } },
      },
    },
    { form: 'an allOf of itself', value: { allOf: [{ $ref: '#' }, { $ref: '#' }] } },
    { form: 'an anyOf of itself', value: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } },
    {
      form: 'references in a ring',
      value: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    },
    {
      form: 'definitions that double',
      value: { $ref: '#/$defs/d0', $defs: { ...doubled, d60: { type: 'string' } } },
    },
    { form: 'a reference that decodes to nothing', value: { $ref: '#/%ff' } },
    {
      form: 'references of 100 KB',
      value: { type: 'array', minItems: 100, items: { $ref: `#/${'a/'.repeat(50_000)}` } },
    },
    {
      form: 'a long pointer of percents',
      value: { type: 'array', minItems: 100, items: { $ref: `#/${'%25'.repeat(30_000)}` } },
    },
    {
      form: 'a large constant, often',
      value: {
        type: 'array',
        minItems: 100,
        items: { type: 'array', minItems: 100, items: { const: 'x'.repeat(100_000) } },
      },
    },
    {
      form: 'a large enum, often',
      value: { type: 'array', minItems: 100, items: { enum: [Array.from({ length: 50_000 }, () => 1)] } },
    },
    {
      form: 'long property names, often',
      value: {
        type: 'array',
        minItems: 100,
        items: { type: 'object', properties: { [`n${'x'.repeat(100_000)}`]: {} } },
      },
    },
    { form: 'enum of 100,000', value: { enum: Array.from({ length: 100_000 }, (_, at) => at) } },
    {
      form: 'required of 100,000',
      value: { type: 'object', required: Array.from({ length: 100_000 }, (_, at) => `r${at}`) },
    },
    {
      form: 'anyOf of 40,000 references',
      value: {
        type: 'array',
        minItems: 100,
        items: { anyOf: Array.from({ length: 40_000 }, () => ({ $ref: '#/$defs/a' })) },
        $defs: { a: {} },
      },
    },
    {
      form: 'prefixItems of 50,000',
      value: { type: 'array', prefixItems: Array.from({ length: 50_000 }, () => ({ type: 'integer' })) },
    },
    {
      form: 'unique items',
      value: { type: 'array', minItems: 100, uniqueItems: true, items: { const: 'x'.repeat(50_000) } },
    },
    {
      form: '400 levels',
      value: nested(130, (inner) => ({ type: 'object', required: ['a'], properties: { a: inner } })),
    },
    { form: '400 levels of allOf', value: nested(200, (inner) => ({ allOf: [inner] })) },
    {
      form: 'patterns',
      value: {
        type: 'object',
        properties: numbered(3000, () => ({ type: 'string', pattern: '((a{64}){64}){64}' })),
      },
    },
    {
      form: 'patterns of groups',
      value: {
        type: 'object',
        properties: numbered(2000, () => ({ type: 'string', pattern: '('.repeat(900) })),
      },
    },
    {
      form: 'patterns of classes',
      value: {
        type: 'object',
        properties: numbered(2000, () => ({ type: 'string', pattern: '[\u0000-\uffff]{64}'.repeat(50) })),
      },
    },
    {
      form: 'long texts',
      value: {
        type: 'array',
        minItems: 100,
        items: { type: 'array', minItems: 100, items: { type: 'string', minLength: 5000 } },
      },
    },
    {
      form: 'a __proto__',
      value: JSON.parse(
        '{"type":"object","properties":{"__proto__":{"$ref":"#/__proto__"}},"required":["__proto__"]}',
      ) as unknown,
    },
    { form: 'no schema', value: 7 },
  ];
}
