import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestOrg } from '../support/installation.js';
import type { SpawnedServer } from '../support/spawned.js';
import { RAISED_PLANS, startCluster, type Cluster } from './cluster.js';
import {
  kindInField,
  kindInPath,
  makeThings,
  signInOwner,
  unknownLike,
  type Kind,
  type Things,
} from './things.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const METHODS = ['get', 'post', 'patch', 'put', 'delete'];
/** What a route or field demands besides ids; elsewhere an empty body or input is one that changes nothing. */
const BODIES: Record<string, object> = {
  'post /agents/{id}/run': { input: 'Open it' },
  'post /webhooks/{id}/recover': { since: '2026-01-01T00:00:00Z' },
};
/** An upload is multipart. */
const FORM = {
  headers: { 'content-type': 'multipart/form-data; boundary=x' },
  body: '--x\r\ncontent-disposition: form-data; name="file"; filename="x.txt"\r\n\r\nx\r\n--x--\r\n',
};
const INPUTS: Record<string, string> = {
  runAgent: '{input: "Open it"}',
  recoverWebhook: '{since: "2026-01-01T00:00:00Z"}',
  uploadKnowledgeFile: '{filename: "x.txt", content: "eA=="}',
};
/** What a field demands besides ids and inputs. */
const FURTHER: Record<string, string> = {
  changePenstockMemberRole: 'role: viewer',
  changeOperatedPlan: 'planCode: cli_team',
  topUpOperatedQuota: 'bucket: credits, amount: 5',
};

let cluster: Cluster;
let server: SpawnedServer;
let things: Things;
let stranger: TestOrg;
/** Of its owner: some fields are for people only. */
let cookie: string;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'all' }], { plans: RAISED_PLANS });
  server = cluster.next();
  things = await makeThings(server, cluster.installation);
  stranger = await cluster.installation.createOrg();
  cookie = await signInOwner(server, cluster.installation, {
    orgId: stranger.orgId,
    email: 'stranger@example.com',
  });
});
afterAll(() => cluster?.close());

interface OpenApi {
  paths: Record<string, Record<string, object>>;
}

interface TypeRef {
  name: string | null;
  kind: string;
  ofType?: TypeRef | null;
}

interface FieldInfo {
  name: string;
  args: { name: string; type: TypeRef }[];
  type: TypeRef;
}

interface Introspection {
  __schema: Record<'queryType' | 'mutationType', { fields: FieldInfo[] } | null>;
}

/** Placeholders that stand for the id of something that belongs to somebody (a model belongs to all). */
function idPlaceholders(path: string): string[] {
  return [...path.matchAll(/\{(\w*[iI]d)\}/g)].map(([, name]) => String(name));
}

/** The message of the Responses convention names the id that was asked for. */
const withoutAskedId = (text: string): string => text.replaceAll(/resp_\w+/g, 'resp_…');

const foreignId = (kind: Kind): string => things.ids[kind];
const unknownId = (kind: Kind): string => unknownLike(things.ids[kind]);

test.each([
  ['/api/v1', ['get /jobs/{jobId}', 'delete /jobs/{jobId}', 'get /jobs/{jobId}/stream']],
  ['/v1', ['get /responses/{id}', 'delete /responses/{id}', 'get /responses/{id}/input_items']],
])(
  'every REST route at %s that takes an id answers the same for a foreign id as for an unknown one',
  async (address, some) => {
    const answerOf = async (method: string, path: string, sent: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${stranger.key}`, ...sent.headers };
      const answer = await fetch(server.origin + address + path, { method, ...sent, headers });
      return { status: answer.status, body: (await answer.json()) as object };
    };
    const { body } = await answerOf('GET', '/openapi.json');
    const routes = Object.entries((body as OpenApi).paths).flatMap(([path, operations]) =>
      METHODS.filter((method) => method in operations && idPlaceholders(path).length > 0)
        // Models belong to all.
        .filter(() => !path.startsWith('/models/'))
        .map((method) => ({ path, method })),
    );
    expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual(expect.arrayContaining(some));
    for (const { path, method } of routes) {
      const route = `${method} ${path}`;
      const call = (idOf: (kind: Kind) => string) => {
        const target = path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(kindInPath(path, name)));
        const json = { headers: JSON_TYPE, body: JSON.stringify(BODIES[route] ?? {}) };
        const sent = route === 'post /agents/{id}/knowledge' ? FORM : json;
        return answerOf(method.toUpperCase(), target, method === 'get' ? {} : sent);
      };
      const [theirs, nobodys] = [await call(foreignId), await call(unknownId)];
      const told = ({ body: answer }: { body: object }) => withoutAskedId(JSON.stringify(answer));
      expect([theirs.status, told(theirs)], route).toEqual([nobodys.status, told(nobodys)]);
      expect(theirs, route).toMatchObject({ status: 404 });
    }
  },
);

const INTROSPECT = `{ __schema { queryType { fields { ...f } } mutationType { fields { ...f } } } }
fragment f on __Field { name args { name type { ...t } } type { ...t } }
fragment t on __Type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }`;

function named(type: TypeRef): TypeRef {
  return type.ofType == null ? type : named(type.ofType);
}

const takesId = ({ type }: FieldInfo['args'][number]): boolean => named(type).name === 'ID';

/** A call of the field with every id filled in, and an input where it demands one. */
function callOf(field: FieldInfo, idOf: (kind: Kind) => string): string {
  const ids = field.args
    .filter(takesId)
    .map(({ name }) => `${name}: "${idOf(kindInField(field.name, name))}"`);
  const inputs = field.args
    .filter(
      ({ type }) => (type.kind === 'NON_NULL' || field.name in INPUTS) && named(type).kind === 'INPUT_OBJECT',
    )
    .map(({ name }) => `${name}: ${INPUTS[field.name] ?? '{}'}`);
  const selection = ['OBJECT', 'INTERFACE'].includes(named(field.type).kind) ? '{ __typename }' : '';
  const further = FURTHER[field.name] ?? [];
  return `${field.name}(${[...ids, ...inputs].concat(further).join(', ')}) ${selection}`;
}

test.each([
  ['key', () => ({ key: stranger.key })],
  ['session', () => ({ headers: { cookie } })],
])(
  'every GraphQL field that takes an id answers a %s the same for a foreign id as for an unknown one',
  async (_kind, caller) => {
    const schema = await server.graphql<Introspection>(INTROSPECT, { key: stranger.key });
    const fields = (['query', 'mutation'] as const).flatMap((operation) =>
      (schema.data?.__schema[`${operation}Type`]?.fields ?? [])
        .filter(({ name, args }) => args.some(takesId) && name !== 'model')
        .map((field) => ({ operation, field })),
    );
    expect(fields.map(({ field }) => field.name)).toEqual(expect.arrayContaining(['job', 'cancelJob']));
    for (const { operation, field } of fields) {
      const call = async (idOf: (kind: Kind) => string) => {
        const { data, errors } = await server.graphql(`${operation} { ${callOf(field, idOf)} }`, caller());
        return {
          data,
          errors: errors.map(({ message, extensions }) => ({ message: withoutAskedId(message), extensions })),
        };
      };
      const theirs = await call(foreignId);
      expect(theirs, field.name).toEqual(await call(unknownId));
      // By the rules of Relay an object that is not there is null.
      if (field.name === 'node') {
        expect(theirs).toEqual({ data: { node: null }, errors: [] });
        continue;
      }
      const isForPeople = theirs.errors[0]?.message === 'Sign in to do this';
      const isForOperators = /[oO]perated/.test(field.name);
      const refusal =
        isForPeople || isForOperators
          ? { code: 'forbidden', httpStatus: 403 }
          : { code: 'not_found', httpStatus: 404 };
      expect(theirs.errors[0]?.extensions, field.name).toMatchObject(refusal);
      expect([field.name, isForPeople && !('key' in caller())]).toEqual([field.name, false]);
    }
  },
);

/** The owner's object of each type that is a Node; a model belongs to all. */
function ownersNodes(): Record<string, string> {
  const { ids, owner } = things;
  const bare = (id: string): string => id.slice(4);
  return {
    Agent: ids.agent,
    AgentMemory: ids.memory,
    AgentRun: ids.run,
    ApiKey: ids.key,
    AuditEntry: ids.entry,
    Budget: ids.budget,
    Job: ids.job,
    KnowledgeFile: ids.file,
    ModelResponse: ids.response,
    PenstockMember: `mbr_${bare(owner.orgId)}_${bare(ids.member)}`,
    PenstockOrganization: owner.orgId,
    UsageRecord: ids.record,
    Webhook: ids.webhook,
    WebhookDelivery: ids.delivery,
  };
}

test('no object of another organisation is a node, of whatever type, to a key or to a person', async () => {
  const ask = async (caller: object, id: string) => {
    const { data, errors } = await server.graphql('query ($id: ID!) { node(id: $id) { id } }', {
      ...caller,
      variables: { id },
    });
    return { data, errors: errors.map(({ message }) => message) };
  };
  const { data } = await server.graphql<{ __type: { possibleTypes: { name: string }[] } }>(
    '{ __type(name: "Node") { possibleTypes { name } } }',
    { key: stranger.key },
  );
  const types = data!.__type.possibleTypes.map(({ name }) => name).filter((name) => name !== 'Model');
  expect(types.sort()).toEqual(Object.keys(ownersNodes()).sort());
  for (const [type, id] of Object.entries(ownersNodes()))
    for (const caller of [{ key: stranger.key }, { headers: { cookie } }]) {
      const theirs = await ask(caller, id);
      expect(theirs, type).toEqual(await ask(caller, unknownLike(id)));
      expect(theirs.data, type).toEqual({ node: null });
      if (!('key' in caller)) expect(theirs.errors, type).toEqual([]);
    }
});

test('an entity of another organisation is as absent as one that does not exist', async () => {
  const QUERY = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Job { id } ... on PenstockOrganization { id } } }`;
  const entities = (representation: object, key: string) =>
    server.graphql(QUERY, { key, variables: { r: [representation] } });
  const { owner, ids } = things;
  const mine = await entities({ __typename: 'Job', id: ids.job }, owner.key);
  expect(mine.data).toEqual({ _entities: [{ id: ids.job }] });
  for (const [typename, id] of [
    ['Job', ids.job],
    ['PenstockOrganization', owner.orgId],
  ] as const) {
    const theirs = await entities({ __typename: typename, id }, stranger.key);
    const nobodys = await entities({ __typename: typename, id: unknownLike(id) }, stranger.key);
    expect(theirs.data).toEqual(nobodys.data);
    expect(theirs.errors.map(({ message }) => message)).toEqual(nobodys.errors.map(({ message }) => message));
    expect(theirs.data).not.toMatchObject({ _entities: [{ id }] });
  }
});

test('what a stranger tried changed nothing for the owner', async () => {
  const { owner, ids } = things;
  const { body: job } = await server.rest('GET', `/jobs/${ids.job}`, { key: owner.key });
  expect(job['status']).toBe('completed');
  expect((await server.rest('GET', `/agents/${ids.agent}`, { key: owner.key })).status).toBe(200);
  const { body } = await server.rest<{ webhook: { enabled: boolean } }>('GET', `/webhooks/${ids.webhook}`, {
    key: owner.key,
  });
  expect(body.webhook.enabled).toBe(true);
});
