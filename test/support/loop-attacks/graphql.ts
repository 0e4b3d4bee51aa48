import type { Attack, Attacker, Body, Told } from './attack.js';

export const graphql =
  (query: string, variables: Body = {}, headers: Record<string, string> = {}) =>
  async ({ server, key }: Attacker) =>
    told(await server.graphql(query, { key, variables, headers }));

const told = ({ status, errors: [error] }: { status: number; errors: { message: string }[] }): Told => ({
  status,
  error: error?.message,
});

export function graphqlAttacks(): Attack[] {
  const fragments = Array.from(
    { length: 150 },
    (_, at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`,
  );
  const long = 'x'.repeat(900_000);
  return [
    { field: 'graphql query', form: '200,000 braces', send: graphql('{a'.repeat(200_000)) },
    { field: 'graphql query', form: '900 KB of one name', send: graphql(`{ ${long} }`) },
    {
      field: 'graphql query',
      form: 'blanks and commas',
      send: graphql(`{ ${' ,'.repeat(400_000)} __typename }`),
    },
    {
      field: 'graphql query',
      form: 'a comment of 800 KB',
      send: graphql(`#${long.slice(0, 800_000)}\n{ __typename }`),
    },
    {
      field: 'graphql query',
      form: 'a block string of quotes',
      send: graphql(`{ a(b: """${'\\"""'.repeat(100_000)}""") }`),
    },
    {
      field: 'graphql query',
      form: 'fragments that double',
      send: graphql(`
        {
          ...f0
        }
        ${fragments.join(' ')}
        fragment f150 on Query {
          __typename
        }
      `),
    },
    {
      field: 'graphql query',
      form: '900 fields that conflict',
      send: graphql(`{ ${'quota { used } '.repeat(300)} }`),
    },
    {
      field: 'graphql query',
      form: 'inline fragments',
      send: graphql(`{ ${'... on Query { '.repeat(300)} __typename ${'}'.repeat(300)} }`),
    },
    {
      field: 'graphql variables',
      form: '20,000 that nothing declares',
      send: graphql(
        '{ __typename }',
        Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`v${at}`, at])),
      ),
    },
    {
      field: 'graphql variables',
      form: 'lists of lists',
      send: graphql('mutation ($i: CreateEmbeddingsInput!) { createEmbeddings(input: $i) { model } }', {
        i: { input: Array.from({ length: 90_000 }, () => [[1]]) },
      }),
    },
    {
      field: 'graphql variables',
      form: '90,000 faults',
      send: graphql('mutation ($i: CreateAgentInput!) { createAgent(input: $i) { id } }', {
        i: { name: 1, tools: Array.from({ length: 90_000 }, () => 7) },
      }),
    },
    ...documents(),
    ...embeddings(),
    ...largeVariables(),
  ];
}

const listed = (count: number, one: (at: number) => string, between = ' '): string =>
  Array.from({ length: count }, (_, at) => one(at)).join(between);

/** Documents of many parts of one kind. */
const documents = (): Attack[] =>
  (
    [
      [
        '10,000 fragments',
        () => `{ ...f0 } ${listed(10_000, (at) => `fragment f${at} on Query { penstockVersion { api } }`)}`,
      ],
      ['10,000 aliases', () => `{ ${listed(10_000, (at) => `a${at}: penstockVersion { api }`)} }`],
      ['480 aliases', () => `{ ${listed(300, (at) => `a${at}: penstockVersion { api }`)} }`],
      ['10,000 directives', () => `{ version ${'@include(if: true) '.repeat(10_000)} { api } }`],
      ['190 unknown directives', () => `{ version ${listed(450, (at) => `@a${at}`)} { api } }`],
      [
        '10,000 variables',
        () => `query (${listed(10_000, (at) => `$v${at}: Int`)}) { penstockVersion { api } }`,
      ],
      [
        '300 unused variables',
        () => `query (${listed(240, (at) => `$v${at}: Int`)}) { penstockVersion { api } }`,
      ],
      ['300 variables of one name', () => `query (${'$v: Int '.repeat(240)}) { penstockVersion { api } }`],
      ['10,000 operations', () => listed(10_000, (at) => `query q${at} { penstockVersion { api } }`)],
      ['190 operations', () => listed(190, (at) => `query q${at} { penstockVersion { api } }`)],
      [
        'a literal of 10,000 lists',
        () => `{ jobs(first: ${'['.repeat(10_000)}1${']'.repeat(10_000)}) { nodes { id } } }`,
      ],
      [
        'a literal of 480 lists',
        () => `{ jobs(first: ${'['.repeat(480)}1${']'.repeat(480)}) { nodes { id } } }`,
      ],
      [
        'a type of 480 lists',
        () => `query ($v: ${'['.repeat(480)}Int${']'.repeat(480)}) { penstockVersion { api } }`,
      ],
      [
        'a text of 900 KB',
        () => `mutation { createEmbeddings(input: { input: "${'a '.repeat(450_000)}" }) { model } }`,
      ],
      [
        'a block text of 9,000 lines',
        () =>
          `mutation { createEmbeddings(input: { input: """${`\n${' '.repeat(90)}a`.repeat(9_000)}""" }) { model } }`,
      ],
      [
        'escapes of 900 KB',
        () =>
          `mutation { createEmbeddings(input: { input: "${String.raw`\u00e9`.repeat(150_000)}" }) { model } }`,
      ],
      ['240 unknown fields', () => `{ ${listed(480, (at) => `versio${at}`)} }`],
      ['240 unknown names of 255', () => `{ ${listed(480, (at) => `${'jobs'.repeat(60)}${at}`)} }`],
      ['unknown fragments', () => `{ ${listed(320, (at) => `...f${at}`)} }`],
      ['unknown arguments', () => `{ jobs(${listed(320, (at) => `firs${at}: 1`)}) { nodes { id } } }`],
      [
        'an input of unknown fields',
        () => `mutation { createEmbeddings(input: { ${listed(320, (at) => `inpu${at}: 1`)} }) { model } }`,
      ],
      [
        'a list of 990 numbers',
        () => `mutation { createEmbeddings(input: { input: [${'1 '.repeat(980)}] }) { model } }`,
      ],
    ] as const
  ).map(([form, query]) => ({
    field: 'graphql document',
    form,
    send: (attacker: Attacker) => graphql(query())(attacker),
  }));

const EMBED =
  'mutation ($input: CreateEmbeddingsInput!) { createEmbeddings(input: $input) { data { index embedding } model } }';
const texts = (count: number): string[] => Array.from({ length: count }, (_, at) => `text ${at}`);

/** Long answers, and Idempotency-Keys under which they are stored. */
const embeddings = (): Attack[] =>
  [
    { input: texts(2048), dimensions: 1536 },
    { input: texts(2048), dimensions: 4096 },
    { input: texts(2048), dimensions: 4096, encodingFormat: 'base64' },
    { input: texts(250), dimensions: 1536 },
  ].flatMap((input) => {
    const form = `${input.input.length} of ${input.dimensions}${'encodingFormat' in input ? ', base64' : ''}`;
    return [
      { field: 'graphql embeddings', form, send: graphql(EMBED, { input }) },
      {
        field: 'graphql embeddings under a key',
        form,
        send: (attacker: Attacker) =>
          graphql(EMBED, { input }, { 'idempotency-key': `e${++keys}` })(attacker),
      },
    ];
  });

let keys = 0;

const CHAT = 'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { id } }';
const MANY = 90_000;

/** Many variables that are declared. */
const largeVariables = (): Attack[] =>
  (
    [
      [
        '90,000 messages',
        CHAT,
        () => ({ input: { messages: Array.from({ length: MANY }, () => ({ role: 'user', content: 'a' })) } }),
      ],
      [
        '60,000 parts',
        CHAT,
        () => ({
          input: {
            messages: [
              { role: 'user', content: Array.from({ length: 60_000 }, () => ({ type: 'text', text: 'a' })) },
            ],
          },
        }),
      ],
      [
        '900,000 stops',
        CHAT,
        () => ({
          input: {
            messages: [{ role: 'user', content: 'a' }],
            stop: Array.from({ length: 900_000 }, () => 'a'),
          },
        }),
      ],
      [
        'a list of 900,000 tools',
        CHAT,
        () => ({
          input: {
            messages: [{ role: 'user', content: 'a' }],
            tools: Array.from({ length: 900_000 }, () => 1),
          },
        }),
      ],
      [
        'a message of 12 MB',
        CHAT,
        () => ({ input: { messages: [{ role: 'user', content: 'a'.repeat(12_000_000) }] } }),
      ],
      ['900,000 texts', EMBED, () => ({ input: { input: Array.from({ length: 900_000 }, () => 'a') } })],
      [
        'lists 400 deep, 2,000 times',
        EMBED,
        () => ({ input: { input: Array.from({ length: 2000 }, () => deep(200)) } }),
      ],
      [
        '19,000 unknown fields',
        EMBED,
        () => ({ input: Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`f${at}`, at])) }),
      ],
      [
        '900,000 ids',
        // not in the schema: no field accepts that many ids
        'query ($ids: [ID!]) { penstockVersion { api } }',
        () => ({ ids: Array.from({ length: 900_000 }, (_, at) => at) }),
      ],
      [
        '900,000 faults',
        // not in the schema: no field accepts them
        'query ($n: [Int!]) { penstockVersion { api } }',
        () => ({ n: Array.from({ length: 900_000 }, () => 'a') }),
      ],
    ] as const
  ).flatMap(([form, query, variables]) => [
    {
      field: 'graphql large variables',
      form,
      send: (attacker: Attacker) => graphql(query, variables())(attacker),
    },
    {
      field: 'graphql large variables under a key',
      form,
      send: (attacker: Attacker) =>
        graphql(query, variables(), { 'idempotency-key': `v${++keys}` })(attacker),
    },
    {
      field: 'graphql large variables of a stream',
      form,
      send: (attacker: Attacker) =>
        graphql(
          query.replace(/^mutation|^query/, 'subscription').replace('createChatCompletion', 'chatCompletion'),
          variables(),
          { accept: 'text/event-stream' },
        )(attacker),
    },
  ]);

const deep = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};
