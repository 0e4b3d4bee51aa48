import { TimeSlicer } from '../../src/collections/time-slicer.js';
import { buildSchema, parse, type GraphQLSchema } from 'graphql';
import { expect, test } from 'vitest';
import type { Principal } from '../../src/access/access.types.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { Scope } from '../../src/contract/words.js';
import { runOperation } from '../../subscriptions/server/operation.js';
import type { OperationEngine } from '../../subscriptions/server/operation.types.js';
import { SharedResults } from '../../subscriptions/server/shared-results.js';

/** A schema whose one subscription gives every subscriber the same events, and counts how often one is executed. */
function counting() {
  const schema: GraphQLSchema = buildSchema('type Query { a: Int } type Subscription { ticks: Int }');
  const field = schema.getSubscriptionType()!.getFields()['ticks']!;
  const events = [{ n: 1 }, { n: 2 }];
  let executions = 0;
  const follow = async function* () {
    yield* events;
  };
  // As those of a hub: others have one reader, and nothing to share.
  field.subscribe = () => Object.assign(follow(), { resumable: true });
  field.resolve = (event: { n: number }) => {
    executions++;
    return event.n;
  };
  const engine: OperationEngine = {
    schema,
    resolve: (request) => Promise.resolve(request),
    prepare: ({ query }) => ({ document: parse(query) }),
    watches: () => true,
    takeSlot: () => Promise.resolve(),
    timeSlicer: new TimeSlicer(),
    context: (call) => ({ call }) as ReturnType<OperationEngine['context']>,
    present: (error) => error.toJSON(),
  } as OperationEngine;
  return { engine, executions: () => executions };
}

async function subscribe(
  engine: OperationEngine,
  shared: SharedResults,
  {
    orgId = 'org_a',
    scopes = ['usage'],
    // not in the schema: this file's own schema has it
    query = 'subscription { ticks }',
  }: { orgId?: string; scopes?: Scope[]; query?: string },
): Promise<string[]> {
  const results: string[] = [];
  const principal = { orgId, scopes: new Set(scopes) } as unknown as Principal;
  await runOperation({
    engine,
    shared,
    call: { principal, signal: new AbortController().signal } as CallContext,
    request: { query },
    byteReservation: {
      grow: () => undefined,
      read: () => 0,
      keep: () => undefined,
      release: () => undefined,
    },
    sink: {
      next: (result) => void results.push(result.toString()),
      error: (errors) => void results.push(JSON.stringify(errors)),
      complete: () => undefined,
      stalled: () => undefined,
    },
  });
  return results;
}

test('a shared event is executed once for each document and authorisation scope, however many read it', async () => {
  const { engine, executions } = counting();
  const shared = new SharedResults();
  const readers = await Promise.all(Array.from({ length: 100 }, () => subscribe(engine, shared, {})));
  expect(new Set(readers.map((results) => results.join()))).toEqual(
    new Set(['{"data":{"ticks":1}},{"data":{"ticks":2}}']),
  );
  expect(executions()).toBe(2);
  await subscribe(engine, shared, { orgId: 'org_b' });
  expect(executions()).toBe(4);
  await subscribe(engine, shared, { scopes: ['usage', 'chat'] });
  expect(executions()).toBe(6);
  // not in the schema: this file's own schema has it
  await subscribe(engine, shared, { query: 'subscription { again: ticks }' });
  expect(executions()).toBe(8);
});
