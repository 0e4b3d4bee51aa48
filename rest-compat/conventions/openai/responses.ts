import { invalid } from '../../../src/contract/errors.js';
import type { DialectCall, EventWriter, Route, RouteAnswer } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { errorObject } from './errors.js';
import { EVENT_SCHEMA, INPUT_ITEMS_SCHEMA, REQUEST_SCHEMA, RESPONSE_SCHEMA } from './responses-schema.js';

type Body = Record<string, unknown>;

/** The usual beginning of an event's JSON. */
const TYPE = /^\{"type":"([\w.]{1,100})"/;

/** Most events are deltas of the text. */
const DELTA = '{"type":"response.output_text.delta"';

function typeOf(event: string): string {
  return TYPE.exec(event)?.[1] ?? String((JSON.parse(event) as { type?: unknown }).type);
}

/** Writes events with their names. A failure is also an event of the convention, with the next number. */
function responseEvents(): EventWriter {
  let written = 0;
  let begun = '';
  return {
    event(source) {
      if (written++ === 0) begun = source;
      return source.startsWith(DELTA)
        ? `event: response.output_text.delta\ndata: ${source}\n\n`
        : `event: ${typeOf(source)}\ndata: ${source}\n\n`;
    },
    ending: () => '',
    fault(error) {
      const { message } = errorObject(error);
      const { response = {} } = begun === '' ? {} : (JSON.parse(begun) as { response?: Body });
      const failed = { ...response, status: 'failed', error: { code: 'server_error', message } };
      const event = { type: 'response.failed', sequence_number: written, response: failed };
      return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
    },
  };
}

/** Events of a response that continues without its reader; an error here is an error of reading. */
function followedEvents(): EventWriter {
  return { ...responseEvents(), fault: () => '' };
}

/** The engine reads the body itself, because the body already has the dialect's form (beyond 11.7). */
function read(body: Body): DialectCall {
  return {
    input: body,
    streams: body['stream'] === true,
    events: body['background'] === true ? followedEvents : responseEvents,
  };
}

const whole = (body: Body): RouteAnswer => ({ body: body['object'] });

/** `starting_after` is the `sequence_number` of the last event that the reader has. @throws ApiError invalid_request */
function followed({ id }: Record<string, unknown>, query: string): Record<string, unknown> {
  const given = new URLSearchParams(query).get('starting_after');
  if (given !== null && !/^\d{1,9}$/.test(given))
    throw invalid('starting_after must be a whole number', 'starting_after');
  return { id, after: given === null ? 0 : Number(given) + 1 };
}

function listed(body: Body): RouteAnswer {
  const { items, hasMore } = body as { items: { id: string }[]; hasMore: boolean };
  return {
    body: {
      object: 'list',
      data: items,
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
      has_more: hasMore,
    },
  };
}

const ID = { id: { description: "The response's id.", example: 'resp_01jd3v5k8m9n2p4q6r8s0t2v4w' } };

export const responseRoutes: Route[] = [
  {
    method: 'POST',
    path: '/responses',
    operationId: 'createResponse',
    tag: 'Responses',
    summary: 'Answer in the form of the Responses convention',
    description:
      'With `stream: true` the answer comes as typed Server-Sent Events. Stored unless `store` is false. With `background: true` it is answered at once and worked on without its caller; its stream can be left and joined again.',
    operation: 'createResponse',
    streamOperation: 'responseStream',
    dialect: 'responses',
    read,
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      schema: REQUEST_SCHEMA,
      example: { model: 'sandbox/chat-basic', input: 'Hello', max_output_tokens: 100 },
    },
    describe: () => RESPONSE_SCHEMA,
    describeEvent: () => EVENT_SCHEMA,
    schemaName: 'Response',
  },
  {
    method: 'GET',
    path: '/responses/{id}',
    operationId: 'getResponse',
    tag: 'Responses',
    summary: 'Read a stored response',
    description:
      'With `?stream=true` its events, as they come; `starting_after` is the `sequence_number` of the last event that you have.',
    document: `query ($id: ID!) { body: response(id: $id) { object } }`,
    streamOperation: 'responseEvents',
    streamArguments: followed,
    events: followedEvents,
    parameters: ID,
    respond: whole,
    describe: () => RESPONSE_SCHEMA,
    describeEvent: () => EVENT_SCHEMA,
    schemaName: 'Response',
  },
  {
    method: 'DELETE',
    path: '/responses/{id}',
    operationId: 'deleteResponse',
    tag: 'Responses',
    summary: 'Delete a stored response',
    document: `mutation ($id: ID!) { body: deleteResponse(id: $id) { id } }`,
    parameters: ID,
    respond: ({ id }) => ({ body: { id, object: 'response.deleted', deleted: true } }),
    describe: () => ({
      type: 'object',
      properties: {
        id: { type: 'string' },
        object: { type: 'string', const: 'response.deleted' },
        deleted: { type: 'boolean', const: true },
      },
      required: ['id', 'object', 'deleted'],
    }),
    schemaName: 'DeletedResponse',
  },
  {
    method: 'POST',
    path: '/responses/{id}/cancel',
    operationId: 'cancelResponse',
    tag: 'Responses',
    summary: 'Cancel a response; an ended one is answered unchanged',
    document: `mutation ($id: ID!) { body: cancelResponse(id: $id) { object } }`,
    parameters: ID,
    respond: whole,
    describe: () => RESPONSE_SCHEMA,
    schemaName: 'Response',
  },
  {
    method: 'GET',
    path: '/responses/{id}/input_items',
    operationId: 'listResponseInputItems',
    tag: 'Responses',
    summary: 'List the input items of a response',
    document: `query ($id: ID!, $limit: Int, $after: ID, $order: ItemOrder) {
      body: responseInputItems(id: $id, first: $limit, after: $after, order: $order) { items hasMore }
    }`,
    parameters: {
      ...ID,
      limit: { description: 'The maximum of items in the page.', minimum: 1, maximum: 100 },
      after: { description: 'Id of the item before the first.' },
      order: { description: '`desc`: the latest first; `asc`: the oldest first.', enum: ['asc', 'desc'] },
    },
    respond: listed,
    describe: () => INPUT_ITEMS_SCHEMA,
    schemaName: 'ResponseInputItems',
  },
];
