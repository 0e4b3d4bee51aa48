import type OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { credits, startResponses, type ResponsesSetup } from './responses-setup.js';

let setup: ResponsesSetup;
let client: OpenAI;
beforeAll(async () => {
  setup = await startResponses();
  client = setup.client;
});
afterAll(() => setup?.close());

const model = 'sandbox/chat-basic';
const SLOW = 'Tell me of weirs @sandbox{"tokens":40,"chunk_ms":30}';

async function all(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const follow = async (id: string, after?: number) =>
  await all(
    await client.responses.retrieve(id, {
      stream: true,
      ...(after === undefined ? {} : { starting_after: after }),
    }),
  );

const numbers = (events: ResponseStreamEvent[]) => events.map(({ sequence_number: n }) => n);

const ended = (id: string) =>
  eventually(async () => {
    const found = await client.responses.retrieve(id);
    return found.status !== 'queued' && found.status !== 'in_progress' && found;
  });

describe('a response in the background', () => {
  it('is answered at once, is worked on without its caller, and is charged once', async () => {
    const made = await client.responses.create({ model, input: 'Hello', background: true });
    expect(made).toMatchObject({ status: expect.stringMatching(/^(queued|in_progress)$/), background: true });
    expect(made.output).toEqual([]);
    const done = await ended(made.id);
    expect(done.status).toBe('completed');
    expect(done.output_text).not.toBe('');
    const [row] = await setup.ledger();
    expect(row).toMatchObject({ operation: 'chat', state: 'settled' });
    expect(credits(row)).toBe((done as unknown as { credits_used: number }).credits_used);
  });

  it('shows each of its events once and in order, from wherever a reader begins', async () => {
    const stream = await client.responses.create({ model, input: 'Hello', background: true, stream: true });
    const events = await all(stream);
    expect(numbers(events)).toEqual(events.map((_, at) => at));
    expect(events.slice(0, 3).map(({ type }) => type)).toEqual([
      'response.created',
      'response.queued',
      'response.in_progress',
    ]);
    const last = events.at(-1) as { type: string; response: OpenAI.Responses.Response };
    expect(last.type).toBe('response.completed');
    const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    expect(said.join('')).toBe((await client.responses.retrieve(last.response.id)).output_text);
    expect(await follow(last.response.id)).toEqual(events);
    expect(await follow(last.response.id, 3)).toEqual(events.slice(4));
  });

  it('goes on from where a reader left', async () => {
    const stream = await client.responses.create({ model, input: SLOW, background: true, stream: true });
    const first: ResponseStreamEvent[] = [];
    for await (const event of stream) if (first.push(event) === 6) break;
    const { response } = first[0] as unknown as { response: { id: string } };
    const rest = await follow(response.id, first.at(-1)!.sequence_number);
    expect(numbers([...first, ...rest])).toEqual([...first, ...rest].map((_, at) => at));
    expect(rest.at(-1)!.type).toBe('response.completed');
  });

  it('ends where it is cancelled or deleted, with what was delivered kept and charged', async () => {
    const stream = await client.responses.create({ model, input: SLOW, background: true, stream: true });
    const events: ResponseStreamEvent[] = [];
    let cancelled: OpenAI.Responses.Response | null = null;
    for await (const event of stream) {
      events.push(event);
      const { response } = events[0] as unknown as { response: { id: string } };
      if (event.type === 'response.output_text.delta' && cancelled === null)
        cancelled = await client.responses.cancel(response.id);
    }
    expect(events.at(-1)!.type).toBe('response.cancelled');
    expect(numbers(events)).toEqual(events.map((_, at) => at));
    expect(cancelled).toMatchObject({ status: 'cancelled' });
    const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    expect((await client.responses.retrieve(cancelled!.id)).output_text).toBe(said.join(''));
    expect(await client.responses.cancel(cancelled!.id)).toEqual(cancelled);
    const [row] = await setup.ledger();
    expect(row).toMatchObject({ state: 'settled' });

    const going = await client.responses.create({ model, input: SLOW, background: true });
    await client.responses.delete(going.id);
    await expect(client.responses.retrieve(going.id)).rejects.toMatchObject({ status: 404 });
    expect((await setup.ledger())[0]).not.toMatchObject({ state: 'reserved' });
  });

  it('is one for each key of a caller, and its events come over GraphQL too', async () => {
    const document = `mutation ($input: ModelResponseInput!, $key: String) {
      startResponse(input: $input, idempotencyKey: $key) { id status } }`;
    const start = async (input: object, key: string) =>
      await setup.server.graphql<{ startResponse: { id: string } }>(document, {
        key: setup.key,
        variables: { input, key },
      });
    const input = { model, input: 'Hello' };
    const before = (await setup.ledger()).length;
    const [first, second] = await Promise.all([start(input, 'a'), start(input, 'a')]);
    const { id } = first.data!.startResponse;
    expect(second.data!.startResponse.id).toBe(id);
    const other = await start({ ...input, input: 'Bye' }, 'a');
    expect(other.errors[0]?.extensions).toMatchObject({ httpStatus: 422 });
    await ended(id);
    const settled = (await setup.ledger()).slice(0, -before).filter(({ state }) => state === 'settled');
    expect(settled).toHaveLength(1);
    const listed = await setup.server.graphql<{ responses: { nodes: { id: string }[] } }>(
      '{ responses(status: completed) { nodes { id outputText } } }',
      { key: setup.key },
    );
    expect(listed.data!.responses.nodes[0]!.id).toBe(id);
  });

  it('that fails before it said anything costs nothing, and says why', async () => {
    setup.upstream.always({ status: 500, body: { error: { message: 'no' } } });
    const made = await client.responses.create({ model: 'acme/chat', input: 'Hello', background: true });
    const done = await ended(made.id);
    expect(done).toMatchObject({ status: 'failed', error: { message: 'Generation failed' } });
    expect((await setup.ledger())[0]).toMatchObject({ state: 'released' });
    const events = await follow(made.id);
    expect(events.at(-1)!.type).toBe('response.failed');
    expect(numbers(events)).toEqual(events.map((_, at) => at));
  });

  it('needs to be kept, and is nobody else’s', async () => {
    await expect(
      client.responses.create({ model, input: 'x', background: true, store: false }),
    ).rejects.toMatchObject({ status: 400, param: 'store' });
    const made = await client.responses.create({ model, input: 'Hello', background: true });
    const { key } = await setup.server.createOrg({ plan: 'business_monthly' });
    const headers = { authorization: `Bearer ${key}` };
    for (const path of ['', '?stream=true', '/input_items']) {
      const answer = await fetch(`${setup.server.origin}/v1/responses/${made.id}${path}`, { headers });
      expect(answer.status).toBe(404);
    }
    await ended(made.id);
  });
});
