import type OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunk } from '../support/fake-upstream.js';
import { eventually } from '../support/wait.js';
import { nativeEvents } from './native-responses.js';
import { eventsOf, startResponses, type ResponsesSetup } from './responses-setup.js';

let setup: ResponsesSetup;
let client: OpenAI;
beforeAll(async () => {
  setup = await startResponses();
  client = setup.client;
});
afterAll(() => setup?.close());

const model = 'sandbox/chat-basic';
const SLOW = 'Tell me of weirs @sandbox{"tokens":40,"chunk_ms":30}';

const follow = (id: string, after?: number) =>
  eventsOf(
    client.responses.retrieve(id, {
      stream: true,
      ...(after === undefined ? {} : { starting_after: after }),
    }) as Promise<AsyncIterable<ResponseStreamEvent>>,
  );
const numbers = (events: ResponseStreamEvent[]) => events.map(({ sequence_number: n }) => n);
const said = (events: ResponseStreamEvent[]) =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
const idOf = (event: ResponseStreamEvent | undefined) =>
  (event as unknown as { response: { id: string } }).response.id;

/** Reads a stream up to the first text, and gives the rest to be read on. */
async function begun(body: { input: string; model?: string }) {
  const stream = await client.responses.create({ model, ...body, stream: true });
  const events: ResponseStreamEvent[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next())
    if (events.push(next.value) && next.value.type === 'response.output_text.delta') break;
  const rest = async () => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) events.push(next.value);
    return events;
  };
  return { id: idOf(events[0]), events, rest, leave: () => stream.controller.abort() };
}

describe('the events of an answer that its caller waits for', () => {
  it.each([
    ['a short one', 'Hello'],
    ['one that takes longer', SLOW],
  ])('can be read afterwards as its first reader saw them: %s', async (_, input) => {
    const events = await eventsOf(client.responses.create({ model, input, stream: true }));
    expect(events.at(-1)!.type).toBe('response.completed');
    const id = idOf(events[0]);
    expect(await follow(id)).toEqual(events);
    expect(await follow(id, 3)).toEqual(events.slice(4));
    const document = `subscription ($id: ID!) { responseEvents(id: $id, after: 2) { sequence type } }`;
    const shown = await fetch(`${setup.server.origin}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${setup.key}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: document, variables: { id } }),
    });
    const told = [...(await shown.text()).matchAll(/"sequence":(\d+),"type":"([\w.]+)"/g)];
    expect(told.map(([, n, type]) => [Number(n), type])).toEqual(
      events.slice(2).map((event) => [event.sequence_number + 1, event.type]),
    );
  });

  it('are those of one text where the answer came in one piece', async () => {
    const whole = await client.responses.create({ model, input: 'Hello' });
    const events = await follow(whole.id);
    expect(numbers(events)).toEqual(events.map((_, at) => at));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(said(events)).toBe(whole.output_text);
    expect(await follow(whole.id, 3)).toEqual(events.slice(4));
    const { output_text: _, ...kept } = await client.responses.retrieve(whole.id);
    expect(events.at(-1)).toMatchObject({ response: kept });
  });

  it('can be read by others meanwhile, to the same end', async () => {
    const first = await begun({ input: SLOW });
    const joined = await eventually(() => follow(first.id).catch(() => false as const));
    const events = await first.rest();
    expect(joined).toEqual(events);
    expect(events.at(-1)!.type).toBe('response.completed');
    const kept = await client.responses.retrieve(first.id);
    expect(kept).toMatchObject({ status: 'completed' });
    expect(kept.output_text).toBe(said(events));
  });

  it('end with its reader, with what was told kept and charged', async () => {
    const { id, events, leave } = await begun({ input: SLOW });
    await eventually(() =>
      client.responses.retrieve(id).then(
        () => true,
        () => false,
      ),
    );
    leave();
    const all = await eventually(async () => {
      const kept = await follow(id);
      return String(kept.at(-1)!.type) === 'response.cancelled' && kept;
    });
    expect(numbers(all)).toEqual(all.map((_, at) => at));
    expect(all.slice(0, events.length)).toEqual(events);
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'cancelled' });
    expect((await setup.ledger())[0]).toMatchObject({ state: 'settled' });
  });

  it.each(['cancel', 'delete'] as const)('end where another request asks for %s', async (how) => {
    const first = await begun({ input: SLOW });
    await eventually(() =>
      client.responses.retrieve(first.id).then(
        () => true,
        () => false,
      ),
    );
    await client.responses[how](first.id);
    const events = await first.rest();
    expect(events.at(-1)!.type).toBe('response.cancelled');
    expect(numbers(events)).toEqual(events.map((_, at) => at));
    if (how === 'cancel') expect(await follow(first.id)).toEqual(events);
    else await expect(client.responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 });
    expect((await setup.ledger())[0]).toMatchObject({ state: 'settled' });
  });

  it.each([
    ['acme/chat', [chunk({ content: 'One ' }), chunk({ content: 'two' })]],
    ['nat/chat', nativeEvents(['One ', 'two']).slice(0, 6)],
  ])(
    'say so where the upstream breaks off, with the number that its reader saw: %s',
    async (name, chunks) => {
      setup.upstream.always({ chunks, chunkMs: 20, then: 'reset' });
      const events = await eventsOf(client.responses.create({ model: name, input: 'Hi', stream: true }));
      expect(events.at(-1)!.type).toBe('response.failed');
      expect(said(events)).toBe('One two');
      const id = idOf(events[0]);
      const kept = await follow(id);
      expect(numbers(kept)).toEqual(numbers(events));
      expect(kept.slice(0, -1)).toEqual(events.slice(0, -1));
      expect(kept.at(-1)!.type).toBe('response.failed');
      const stored = await client.responses.retrieve(id);
      expect([stored.status, stored.output_text]).toEqual(['failed', 'One two']);
      expect((await setup.ledger())[0]).toMatchObject({ state: 'settled' });
      const made = await client.responses.create({ model: name, input: 'Hi', background: true });
      const ended = await eventually(async () => {
        const found = await client.responses.retrieve(made.id);
        return found.status === 'failed' && found;
      });
      expect(ended.output_text).toBe('One two');
      expect((await setup.ledger())[0]).toMatchObject({ state: 'settled' });
    },
  );

  it('are not kept with `store: false`', async () => {
    const events = await eventsOf(
      client.responses.create({ model, input: SLOW, stream: true, store: false }),
    );
    await expect(follow(idOf(events[0]))).rejects.toMatchObject({ status: 404 });
  });
});
