import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../support/client.js';
import { startCluster, type Cluster } from './cluster.js';

const METHODS = ['get', 'post', 'patch', 'put', 'delete'];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'all' }]);
});
afterAll(() => cluster.close());

interface OpenApi {
  paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
}

interface TypeRef {
  name: string | null;
  kind: string;
  ofType: TypeRef | null;
}

interface Introspection {
  __schema: Record<
    'queryType' | 'mutationType',
    { fields: { name: string; args: { name: string; type: TypeRef }[]; type: TypeRef }[] } | null
  >;
}

/** The thing's id that a path's placeholder stands for; other placeholders name public things (models). */
function idPlaceholders(path: string): string[] {
  return [...path.matchAll(/\{(\w*[iI]d)\}/g)].map(([, name]) => String(name));
}

const withoutVolatile = ({ status, body }: Answer): unknown => ({ status, body });

test('every REST route that takes an id answers the same for a foreign id as for an unknown one', async () => {
  const server = cluster.next();
  const [owner, stranger] = [await cluster.installation.createOrg(), await cluster.installation.createOrg()];
  const job = await server.rest('POST', '/images/generations', {
    key: owner.key,
    body: { prompt: 'a lock', size: '512x512' },
  });
  const foreign = String(job.headers['x-job-id']);
  expect((await server.rest('GET', `/jobs/${foreign}`, { key: owner.key })).status).toBe(200);
  const unknown = `${foreign.slice(0, -6)}000000`;
  const { body: openapi } = await server.rest<OpenApi>('GET', '/openapi.json');
  const routes = Object.entries(openapi.paths).flatMap(([path, operations]) =>
    METHODS.filter((method) => method in operations && idPlaceholders(path).length > 0).map((method) => ({
      path,
      method,
    })),
  );
  expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual(
    expect.arrayContaining(['get /jobs/{jobId}', 'delete /jobs/{jobId}', 'get /jobs/{jobId}/stream']),
  );
  for (const { path, method } of routes) {
    const call = async (id: string) => {
      const target = path.replace(/\{\w+\}/g, id);
      return withoutVolatile(
        await server.rest(method.toUpperCase(), target, {
          key: stranger.key,
          ...(method === 'get' ? {} : { body: {} }),
        }),
      );
    };
    const answers = { foreign: await call(foreign), unknown: await call(unknown) };
    expect(answers.foreign, `${method} ${path}`).toEqual(answers.unknown);
    expect(answers.foreign, `${method} ${path}`).toMatchObject({ status: 404 });
  }
});

const INTROSPECT = `{ __schema {
  queryType { fields { name args { name type { name kind ofType { name kind ofType { name kind } } } } type { ...t } } }
  mutationType { fields { name args { name type { name kind ofType { name kind ofType { name kind } } } } type { ...t } } }
} } fragment t on __Type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }`;

function named(type: TypeRef): TypeRef {
  return type.ofType === null || type.ofType === undefined ? type : named(type.ofType);
}

test('every GraphQL field that takes an id answers the same for a foreign id as for an unknown one', async () => {
  const server = cluster.next();
  const [owner, stranger] = [await cluster.installation.createOrg(), await cluster.installation.createOrg()];
  const job = await server.rest('POST', '/images/generations', {
    key: owner.key,
    body: { prompt: 'a lock', size: '512x512' },
  });
  const foreign = String(job.headers['x-job-id']);
  const unknown = `${foreign.slice(0, -6)}000000`;
  const schema = await server.graphql<Introspection>(INTROSPECT, { key: owner.key });
  const fields = (['query', 'mutation'] as const).flatMap((operation) =>
    (schema.data?.__schema[`${operation}Type`]?.fields ?? [])
      .filter(
        ({ name, args }) =>
          args.some((arg) => named(arg.type).name === 'ID') && !/^model$|^_entities$/.test(name),
      )
      .map((field) => ({ operation, field })),
  );
  expect(fields.map(({ field }) => field.name)).toEqual(expect.arrayContaining(['job', 'cancelJob']));
  for (const { operation, field } of fields) {
    const id = field.args.find((arg) => named(arg.type).name === 'ID')?.name;
    // Other arguments that a field demands are inputs whose fields are all optional: an empty one changes nothing.
    const more = field.args
      .filter((arg) => arg.type.kind === 'NON_NULL' && named(arg.type).kind === 'INPUT_OBJECT')
      .map((arg) => `, ${arg.name}: {}`);
    const selection = named(field.type).kind === 'OBJECT' ? '{ __typename }' : '';
    const call = async (value: string) => {
      const { data, errors } = await server.graphql(
        `${operation} { ${field.name}(${id}: "${value}"${more.join('')}) ${selection} }`,
        { key: stranger.key },
      );
      return {
        data,
        errors: errors.map(({ message, extensions }) => ({
          message,
          code: extensions['code'],
          status: extensions['httpStatus'],
        })),
      };
    };
    const answers = { foreign: await call(foreign), unknown: await call(unknown) };
    expect(answers.foreign, field.name).toEqual(answers.unknown);
    expect(answers.foreign.errors[0], field.name).toMatchObject({ code: 'not_found', status: 404 });
  }
});

test('an entity of another organisation is as absent as one that does not exist', async () => {
  const server = cluster.next();
  const [owner, stranger] = [await cluster.installation.createOrg(), await cluster.installation.createOrg()];
  const job = await server.rest('POST', '/images/generations', {
    key: owner.key,
    body: { prompt: 'a lock', size: '512x512' },
  });
  const foreign = String(job.headers['x-job-id']);
  const entities = (representation: object, key: string) =>
    server.graphql(
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Job { id } ... on Organization { id } } }',
      {
        key,
        variables: { r: [representation] },
      },
    );
  expect((await entities({ __typename: 'Job', id: foreign }, owner.key)).data).toEqual({
    _entities: [{ id: foreign }],
  });
  for (const representation of [
    { __typename: 'Job', id: foreign },
    { __typename: 'Organization', id: owner.orgId },
  ]) {
    const absent = { ...representation, id: `${representation.id.slice(0, -6)}000000` };
    const [theirs, nobodys] = [
      await entities(representation, stranger.key),
      await entities(absent, stranger.key),
    ];
    expect(theirs.data).toEqual(nobodys.data);
    expect(theirs.errors.map(({ message }) => message)).toEqual(nobodys.errors.map(({ message }) => message));
    expect(theirs.data).not.toMatchObject({ _entities: [{ id: representation.id }] });
  }
});
