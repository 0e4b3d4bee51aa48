import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

it('a field of a mutation with an Idempotency-Key is done once and answered, whatever it is called', async () => {
  const { key } = await server.createOrg();
  const text = (last: string) =>
    `mutation { __proto__: createAgent(input: { name: "Once", systemPrompt: "x" }) { name } last: ${last} }`;
  const agents = async () =>
    (await server.rest<{ agents: unknown[] }>('GET', '/agents', { key })).body.agents;

  const failing = text('generateImage(input: { prompt: "@sandbox{\\"fail\\":\\"no luck\\"}" }) { created }');
  for (let time = 1; time <= 2; time++) {
    const { errors } = await server.graphql(failing, { key, headers: { 'idempotency-key': 'failing' } });
    expect(errors).toMatchObject([{ message: 'Generation failed' }]);
    expect(await agents()).toHaveLength(1);
  }

  const working = text('createAgent(input: { name: "Twice", systemPrompt: "x" }) { name }');
  for (let time = 1; time <= 2; time++) {
    const { data } = await server.graphql(working, { key, headers: { 'idempotency-key': 'working' } });
    expect(JSON.stringify(data)).toBe('{"__proto__":{"name":"Once"},"last":{"name":"Twice"}}');
    expect(await agents()).toHaveLength(3);
  }
});
