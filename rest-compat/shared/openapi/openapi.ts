import { isNonNullType } from 'graphql';
import type { GraphQLSchema } from 'graphql';
import { getNullableType, GraphQLNonNull } from 'graphql';
import type { Operation } from '../compile.js';
import type { Endpoint } from '../mount.js';
import { BODY_VARIABLE, mountRoute } from '../mount.js';
import type { Convention, Face } from '../convention.types.js';
import type { JsonSchema, Route } from '../route.types.js';
import { errorReferences, errorResponses, headerReference, HEADERS, RATE_HEADERS } from './errors.js';
import { inputSchema, outputSchema, notNull, parameterSchema, withOptional } from './json-schema.js';

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const TAGS: Record<string, string> = {
  Chat: 'Conversations, whole or streamed.',
  Images: 'Images from text, and their edits.',
  Videos: 'Videos from text, an image or a video.',
  Audio: 'Speech, transcription and music.',
  Embeddings: 'Vectors of texts.',
  Rerank: 'Texts, sorted by how well they answer a question.',
  Moderations: 'Checks for harmful inputs.',
  Agents: 'Agents, their runs and their knowledge.',
  Jobs: 'Asynchronous work: list, follow, cancel.',
  Webhooks: 'Signed notifications: registrations and deliveries.',
  Usage: 'Usage: single operations, and sums.',
  'Client tokens': 'Credentials for browsers.',
  Quota: "The remaining amounts of the organisation's plan.",
  Models: 'The catalogue.',
};

/**
 * Builds the OpenAPI 3.1 description of a table, from its documents and the schema's types.
 * @param publicUrl the installation's address for callers, if it is known; it may have a path
 */
export function describeApi(schema: GraphQLSchema, face: Face, publicUrl = ''): JsonSchema {
  const { routes, securitySchemes, description } = face;
  const endpoints = routes.map((route) => mountRoute(schema, route));
  const components = namedSchemas(endpoints);
  const conventions = new Set(routes.map((route) => conventionOf(face, route)));
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const endpoint of endpoints) {
    const { method, path } = endpoint.route;
    const item = (paths[path.replace('+}', '}')] ??= {});
    item[method.toLowerCase()] = operationOf(endpoint, conventionOf(face, endpoint.route));
  }
  const tags = new Set(routes.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Penstock',
      version: '1.0.0',
      description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}${face.path}` }],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags: Object.entries(TAGS)
      .filter(([name]) => tags.has(name))
      .map(([name, about]) => ({ name, description: about })),
    paths,
    components: {
      securitySchemes,
      headers: HEADERS,
      responses: Object.assign({}, ...[...conventions].map(errorResponses)) as JsonSchema,
      schemas: {
        ...Object.fromEntries([...conventions].map(({ errorName, errorSchema }) => [errorName, errorSchema])),
        ...components,
      },
    },
  };
}

/** The convention of a row's path, without regard to the request's headers. */
const conventionOf = (face: Face, { path }: Route): Convention => face.conventionOf({ headers: {} }, path);

/** The description as text: it is committed, and served with the public address. */
export function printApi(schema: GraphQLSchema, face: Face, publicUrl?: string): string {
  return `${JSON.stringify(describeApi(schema, face, publicUrl), null, 2)}\n`;
}

/** Each row's answer under its name; a part that is another row's whole answer refers to it. */
function namedSchemas(endpoints: Endpoint[]): Record<string, JsonSchema> {
  const named = new Map<string, JsonSchema>();
  for (const endpoint of endpoints) {
    const { schemaName } = endpoint.route;
    const { answerEventSchema, bytesOnly } = endpoint.route;
    const chunk = answerEventSchema ?? (endpoint.stream && chunkSchema(endpoint.route, endpoint.stream));
    for (const [name, schema] of [
      ...(bytesOnly ? [] : withForms(schemaName, answerSchema(endpoint))),
      ...(chunk ? [[`${schemaName}Chunk`, chunk] as const] : []),
    ]) {
      if (JSON.stringify(named.get(name) ?? schema) !== JSON.stringify(schema))
        throw new Error(`two schemas of the name ${name}`);
      named.set(name, schema);
    }
  }
  const names = new Map([...named].map(([name, schema]) => [JSON.stringify(schema), name]));
  return Object.fromEntries([...named].map(([name, schema]) => [name, refer(schema, names, name)]));
}

/**
 * An answer with several forms refers to each form by a name: its `title`, or the name of the result. Inline schemas are named by
 * client generators, and some of these then create the same name twice.
 */
function withForms(name: string, schema: JsonSchema): (readonly [string, JsonSchema])[] {
  const forms = schema['anyOf'] as (JsonSchema & { title?: string })[] | undefined;
  if (forms === undefined) return [[name, schema]];
  const parts = forms.map(({ title = `${name}Result`, ...form }) => [title, form] as const);
  return [[name, { ...schema, anyOf: parts.map(([part]) => reference(part)) }], ...parts];
}

/** A chunk has a part of a message; only the last chunk has tier, usage and citations. */
const CHUNK_OPTIONAL = [
  'role',
  'content',
  'reasoning',
  'tool_calls',
  'function_call',
  'logprobs',
  'model_tier',
  'usage',
  'citations',
];

function refer(value: unknown, names: Map<string, string>, own?: string): JsonSchema {
  if (typeof value !== 'object' || value === null) return value as JsonSchema;
  const { description, ...bare } = value as JsonSchema;
  const name = names.get(JSON.stringify(value)) ?? names.get(JSON.stringify(bare));
  if (name !== undefined && name !== own)
    return { ...reference(name), ...(description === undefined ? {} : { description }) };
  if (Array.isArray(value)) return value.map((item) => refer(item, names)) as unknown as JsonSchema;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, refer(item, names)]));
}

/** If a root field is null in GraphQL, REST answers with an error. */
const schemaOf = ({ field, selection }: Operation): JsonSchema =>
  outputSchema(new GraphQLNonNull(getNullableType(field.type)), selection);

function chunkSchema({ describeEvent }: Route, stream: Operation): JsonSchema {
  const whole = withOptional(schemaOf(stream), [...CHUNK_OPTIONAL, 'sequence']);
  // Only GraphQL numbers chunks.
  const { sequence: _, ...shown } = whole['properties'] as Record<string, JsonSchema>;
  const schema = { ...whole, properties: shown };
  return describeEvent ? describeEvent(schema) : schema;
}

function answerSchema({ route, operation }: Endpoint): JsonSchema {
  const schema = schemaOf(operation);
  return route.describe ? route.describe(schema) : schema;
}

function operationOf(endpoint: Endpoint, convention: Convention): JsonSchema {
  const { route, operation } = endpoint;
  const { operationId, summary, description, tag } = route;
  const parameters = parametersOf(endpoint);
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    'x-graphql': `${operation.kind} ${operation.field.name}`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...((route.body ?? route.upload) ? { requestBody: requestBodyOf(endpoint) } : {}),
    responses: {
      '200': successOf(endpoint, convention),
      ...errorReferences(convention, errorStatuses(endpoint)),
    },
  };
}

function errorStatuses({ route }: Endpoint): number[] {
  const ofPath = route.path.includes('{') || route.mayNotFind ? [404] : [];
  const ofWork = (route.body ?? route.upload) ? [402] : [];
  // Also for operations without fields, because a body is read even there.
  const ofBody = route.method === 'POST' || route.method === 'PATCH' ? [413, 415] : [];
  // Idempotency-Key.
  const ofPost = route.method === 'POST' ? [409, 422] : [];
  return [400, 401, 403, ...ofPath, ...ofWork, ...ofBody, ...ofPost, 429, 500, 503].sort((a, b) => a - b);
}

function parametersOf({ route, operation }: Endpoint): JsonSchema[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, name = '']) => name);
  const inQuery = operation.variables.map(({ name }) => name).filter((name) => !inPath.includes(name));
  const declared = Object.keys(route.parameters ?? {}).filter(
    (name) => !inPath.includes(name) && !inQuery.includes(name),
  );
  const ofTable = [...inPath, ...inQuery, ...declared]
    .filter((name) => name !== BODY_VARIABLE && name !== 'after' && !(route.pathVariables && name === 'id'))
    .map((name) => parameterOf({ route, operation }, name, inPath.includes(name) ? 'path' : 'query'));
  return [...ofTable, ...headersOf({ route, operation })];
}

type Described = Pick<Endpoint, 'route' | 'operation'>;

function parameterOf({ route, operation }: Described, name: string, place: 'path' | 'query'): JsonSchema {
  const variable = operation.variables.find((candidate) => candidate.name === name);
  const { description, example, commas: _, ...limits } = route.parameters?.[name] ?? { description: '' };
  const fallback = { type: place === 'path' ? 'string' : 'boolean' };
  const schema = variable ? parameterSchema(variable.type, variable.defaultValue) : fallback;
  return {
    name,
    in: place,
    required:
      place === 'path' ||
      (variable !== undefined && isNonNullType(variable.type) && variable.defaultValue === undefined),
    description,
    schema: { ...schema, ...limits },
    ...(example === undefined ? {} : { example }),
  };
}

function headersOf({ operation: { kind }, route: { raw } }: Described): JsonSchema[] {
  const header = (name: string, description: string, schema: JsonSchema) => ({
    name,
    in: 'header',
    description,
    schema,
  });
  if (kind !== 'subscription' || raw === 'text') return [];
  return [
    header('Last-Event-ID', 'The `id:` of the last event that you have.', {
      type: 'integer',
      minimum: 0,
      maximum: 2 ** 31 - 1,
    }),
  ];
}

function requestBodyOf(endpoint: Endpoint): JsonSchema {
  const { upload, body } = endpoint.route;
  const json = body ? bodyOf(endpoint) : null;
  if (!upload) return json as JsonSchema;
  const form = {
    type: 'object',
    properties: {
      ...formProperties(json, upload.replaces),
      [upload.field]: { type: 'string', format: 'binary' },
    },
    required: [upload.field],
    additionalProperties: false,
  };
  const content = {
    ...(json?.['content'] as JsonSchema | undefined),
    'multipart/form-data': { schema: form, encoding: { [upload.field]: { contentType: upload.accepts } } },
  };
  return { required: true, content };
}

/** A form has the fields of the JSON body, except those that its file replaces, and without null. */
function formProperties(json: JsonSchema | null, replaced: readonly string[] = []): JsonSchema {
  const content = json?.['content'] as { 'application/json': { schema: JsonSchema } } | undefined;
  const properties = (content?.['application/json'].schema['properties'] ?? {}) as JsonSchema;
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => !replaced.includes(name))
      .map(([name, schema]) => [name, notNull(schema as JsonSchema)]),
  );
}

/** Unknown fields are refused unless they are null. */
const NULL: JsonSchema = { type: 'null' };

function bodyOf({ route, operation }: Endpoint): JsonSchema {
  const input = operation.variables.find(({ name }) => name === BODY_VARIABLE);
  if (!input || !route.body) throw new Error(`${route.path}: a body needs the variable ${BODY_VARIABLE}`);
  if (route.body.schema) return jsonBody(route.body.schema, route.body);
  const schema = inputSchema(input.type);
  const properties = { ...(schema['properties'] as JsonSchema), ...route.body.extra };
  const rules = { ...route.body.rules, ...(route.body.open ? {} : { additionalProperties: NULL }) };
  return jsonBody({ ...schema, properties, ...rules }, route.body);
}

function jsonBody(schema: JsonSchema, { optional, example }: NonNullable<Route['body']>): JsonSchema {
  return { required: optional !== true, content: { 'application/json': { schema, example } } };
}

function successOf(endpoint: Endpoint, convention: Convention): JsonSchema {
  const { route } = endpoint;
  const isGeneration = route.document?.includes('job { id status') === true;
  return {
    description: isEventStream(endpoint) ? 'The events of the stream.' : 'The answer.',
    headers: {
      ...RATE_HEADERS,
      ...(isGeneration ? { 'X-Job-Id': headerReference('JobId') } : {}),
      ...(route.method === 'POST' ? { 'Idempotent-Replayed': headerReference('IdempotentReplayed') } : {}),
      ...route.headers,
    },
    content: contentOf(endpoint, reference(convention.errorName)),
  };
}

function isEventStream({ route, operation }: Endpoint): boolean {
  return (operation.kind === 'subscription' && route.raw !== 'text') || route.raw === 'run';
}

function contentOf(endpoint: Endpoint, fault: JsonSchema): JsonSchema {
  const { route, stream } = endpoint;
  const answer = reference(route.schemaName);
  if (isEventStream(endpoint)) return { [EVENT_STREAM]: { schema: eventSchema([answer, fault], BY_ID) } };
  const chunk = reference(`${route.schemaName}Chunk`);
  return {
    ...(route.bytesOnly ? {} : { 'application/json': { schema: answer } }),
    ...(stream ? { [EVENT_STREAM]: { schema: eventSchema([chunk, fault], UNTIL_DONE) } } : {}),
    ...(route.answerEventSchema ? { [EVENT_STREAM]: { schema: eventSchema([chunk, fault], BY_TYPE) } } : {}),
    ...Object.fromEntries((route.alsoAnswers ?? []).map((type) => [type, { schema: plainSchema(type) }])),
  };
}

const EVENT_STREAM = 'text/event-stream';
const BY_ID = 'Its `id:` is what `Last-Event-ID` takes.';
const BY_TYPE = 'Its `event:` is the `type` of its data.';
const UNTIL_DONE = '`data: [DONE]` ends the stream.';

const plainSchema = (type: string): JsonSchema =>
  type.startsWith('text/') || type.endsWith('subrip') ? { type: 'string' } : {};

/** One event of the stream, for validators: its `data:` is text that contains JSON. The last event of a failed stream contains the error. */
function eventSchema(contents: JsonSchema[], framing: string): JsonSchema {
  const json = {
    contentMediaType: 'application/json',
    contentSchema: { anyOf: contents },
  };
  const data = framing === UNTIL_DONE ? { anyOf: [{ const: '[DONE]' }, json] } : json;
  return {
    type: 'object',
    description: `One event of the stream. ${framing}`,
    properties: { id: { type: 'string' }, data: { type: 'string', ...data } },
    required: ['data'],
  };
}
