import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg());
});
afterAll(() => server?.close());

const MEGABYTES = 'word word '.repeat(3_000_000);

const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, at) => `a${at}: ${field}`).join(' ');

describe('a text of megabytes', () => {
  it('that is too long is refused by its length, in each of the fields that it is given to', async () => {
    const iterate = String.prototype[Symbol.iterator];
    let counted = 0;
    const spy = vi.spyOn(String.prototype, Symbol.iterator).mockImplementation(function (this: string) {
      if (this.length === MEGABYTES.length) counted++;
      return iterate.call(this);
    });
    const text = `query ($image: GenerateImageInput!) { ${aliases(15, 'estimate(input: { image: $image }) { model }')} }`;
    const { errors } = await server.graphql(text, { key, variables: { image: { prompt: MEGABYTES } } });
    spy.mockRestore();
    expect(errors[0]).toMatchObject({ message: 'prompt exceeds maximum length of 32000 characters' });
    expect(counted).toBe(0);
  });

  it('that stands for an id is unknown, and not asked for as a whole', async () => {
    const { agents } = server.services;
    const { get } = agents;
    const asked: string[] = [];
    agents.get = (principal, id) => {
      asked.push(id);
      return get.call(agents, principal, id);
    };
    const text = 'query ($id: ID!) { agent(id: $id) { id } }';
    const { errors } = await server.graphql(text, { key, variables: { id: MEGABYTES } });
    agents.get = get;
    expect(errors).toMatchObject([{ message: 'Agent not found', extensions: { httpStatus: 404 } }]);
    expect(asked.map(({ length }) => length)).toEqual([256]);
  });

  it('that stands for the id of an entity is null, and not asked for', async () => {
    const { agents } = server.services;
    const { getMany } = agents;
    const asked: string[] = [];
    agents.getMany = (principal, ids) => {
      asked.push(...ids);
      return getMany.call(agents, principal, ids);
    };
    const text = 'query ($all: [_Any!]!) { _entities(representations: $all) { __typename } }';
    const all = [MEGABYTES, 'agt_unknown'].map((id) => ({ __typename: 'Agent', id }));
    const { data, errors } = await server.graphql(text, { key, variables: { all } });
    agents.getMany = getMany;
    expect({ data, errors }).toEqual({ data: { _entities: [null, null] }, errors: [] });
    expect(asked).toEqual(['agt_unknown']);
  });

  it('that stands for the user of memories is refused, as when a run is started', async () => {
    const made = await server.graphql<{ createAgent: { id: string } }>(
      'mutation { createAgent(input: { name: "a", systemPrompt: "b" }) { id } }',
      { key },
    );
    const text =
      'query ($id: ID!, $user: String) { agentMemories(agentId: $id, user: $user) { nextCursor } }';
    const variables = { id: made.data?.createAgent.id, user: MEGABYTES };
    const { errors } = await server.graphql(text, { key, variables });
    expect(errors).toMatchObject([
      { message: 'user must be at most 200 characters', extensions: { httpStatus: 400, param: 'user' } },
    ]);
  });
});
