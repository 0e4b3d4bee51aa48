import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
let cancelled = 0;

/** No JSON can be written of it, as of an answer that is longer than any string may be. */
const unwritable = { id: 'job_x', inputParams: { n: 1n } } as never;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg());
  const { jobs } = server.services;
  jobs.get = () => Promise.resolve(unwritable);
  jobs.cancel = () => {
    cancelled++;
    return Promise.resolve(unwritable);
  };
});
afterAll(() => server?.close());

async function ask(query: string, headers: Record<string, string> = {}) {
  const response = await fetch(server.graphqlUrl, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  return { status: response.status, json: (await response.json()) as object };
}

const masked = {
  errors: [{ message: 'Internal server error', extensions: { code: 'server_error', httpStatus: 500 } }],
};

describe('an answer that cannot be written', () => {
  it('is 500 with the code of the contract, and tells nothing of its cause', async () => {
    expect(await ask('{ job(id: "x") { inputParams } }')).toEqual({ status: 500, json: masked });
  });

  it('of one field of a mutation with an Idempotency-Key is not asked for again, and what came before stays done', async () => {
    const text = `mutation {
      made: createAgent(input: { name: "Once", systemPrompt: "x" }) { id }
      cancelled: cancelJob(id: "x") { job { inputParams } }
    }`;
    const once = { 'idempotency-key': 'one' };
    expect(await ask(text, once)).toEqual({ status: 500, json: masked });
    expect(cancelled).toBe(1);
    await ask(text, once);
    expect(cancelled).toBe(2);
    const { body } = await server.rest<{ agents: unknown[] }>('GET', '/agents', { key });
    expect(body.agents).toHaveLength(1);
  });

  it('in the middle of a mutation ends it there: what came before stays done, what comes after is not begun', async () => {
    const text = `mutation {
      made: createAgent(input: { name: "Before", systemPrompt: "x" }) { id }
      cancelled: cancelJob(id: "x") { job { inputParams } }
      more: createAgent(input: { name: "After", systemPrompt: "x" }) { id }
    }`;
    const once = { 'idempotency-key': 'two' };
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await ask(text, once)).toEqual({ status: 500, json: masked });
    const { body } = await server.rest<{ agents: { name: string }[] }>('GET', '/agents', { key });
    const names = body.agents.map(({ name }) => name);
    expect(names.filter((name) => name === 'Before' || name === 'After')).toEqual(['Before']);
  });
});
