import {
  buildClientSchema,
  getIntrospectionQuery,
  type GraphQLSchema,
  type IntrospectionQuery,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperationGenerator } from '../support/operations.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { signIn } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { seededRandom } from '../support/wait.js';

let server: TestServer;
let schema: GraphQLSchema;
let key: string;
/** Some fields are for signed-in people only. */
let cookie: string;

beforeAll(async () => {
  const rate = { rpm: 100_000, burst: 100_000 };
  server = await startPenstock({ role: 'api', plans: { plans: { business_monthly: { rate } } } });
  const org = await server.createOrg();
  ({ key } = org);
  ({ cookie } = await signIn(server, { orgId: org.orgId, email: 'owner@example.com', role: 'owner' }));
  const { data } = await server.graphql<IntrospectionQuery>(getIntrospectionQuery(), { key });
  schema = buildClientSchema(data!);
});
afterAll(() => server?.close());

interface Refusal {
  message: string;
  extensions?: { code?: string; httpStatus?: number };
}

/** Whatever was asked: data, or refusals with the contract's codes that are no fault of the server. */
function check(operation: object, answer: { data?: unknown; errors?: Refusal[] }): void {
  const errors = answer.errors ?? [];
  const context = JSON.stringify({ operation, errors }).slice(0, 2000);
  expect(answer.data !== undefined || errors.length > 0, context).toBe(true);
  for (const { extensions } of errors) {
    expect(extensions?.httpStatus, context).toBeGreaterThanOrEqual(400);
    // 500 is also what a model answers that was told to fail; a fault of ours has no other message.
    expect(
      errors.map(({ message }) => message),
      context,
    ).not.toContain('Internal server error');
  }
}

describe('random operations with hostile values', () => {
  it.each([1, 2, 3])('over HTTP are answered, whatever they hold (seed %i)', async (seed) => {
    const caller = seed === 2 ? { headers: { cookie } } : { key };
    const generator = new OperationGenerator(schema, seededRandom(seed));
    for (let i = 0; i < 60; i++) {
      const operation = generator.operation(i % 2 === 0 ? 'query' : 'mutation');
      const answer = await server.graphql(operation.query, { ...caller, variables: operation.variables });
      expect(answer.status, operation.query).toBeLessThan(500);
      check(operation, answer);
    }
  });

  it.each([4, 5])('over WebSocket end one by one, and the connection goes on (seed %i)', async (seed) => {
    const generator = new OperationGenerator(schema, seededRandom(seed));
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
    await ws.next('connection_ack');
    for (let i = 0; i < 40; i++) {
      const kind = (['query', 'mutation', 'subscription'] as const)[i % 3]!;
      const operation = generator.operation(kind);
      // What is too large for a message is closed with 1009, which is tested elsewhere.
      if (JSON.stringify(operation).length > 200_000) continue;
      ws.send({ id: `${i}`, type: 'subscribe', payload: operation });
      if (kind === 'subscription') ws.send({ id: `${i}`, type: 'complete' });
    }
    ws.send({ id: 'last', type: 'subscribe', payload: { query: '{ penstockVersion { api } }' } });
    while ((await ws.next('next'))['id'] !== 'last');
    for (const { type, payload } of ws.messages) {
      if (type === 'error') check({}, { errors: payload as Refusal[] });
      if (type === 'next') check({}, payload as { data?: unknown });
    }
    ws.socket.close();
  });
});
