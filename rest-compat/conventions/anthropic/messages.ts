import type { DialectCall, EventWriter, ReadRequest, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { ANTHROPIC } from './convention.js';
import {
  COUNT_REQUEST_SCHEMA,
  EVENT_SCHEMA,
  MESSAGE_SCHEMA,
  REQUEST_SCHEMA,
  TOKENS_SCHEMA,
} from './messages-schema.js';

type Body = Record<string, unknown>;

/** The usual beginning of an event's JSON. */
const TYPE = /^\{"type":"([\w.]{1,100})"/;

/** Most events are deltas. */
const DELTA = '{"type":"content_block_delta"';

function typeOf(event: string): string {
  return TYPE.exec(event)?.[1] ?? String((JSON.parse(event) as { type?: unknown }).type);
}

/** Writes events with their names. */
function messageEvents(requestId: string): EventWriter {
  return {
    event: (source) =>
      source.startsWith(DELTA)
        ? `event: content_block_delta\ndata: ${source}\n\n`
        : `event: ${typeOf(source)}\ndata: ${source}\n\n`,
    ending: () => '',
    fault: (error) => ANTHROPIC.errorEvent(error, requestId),
  };
}

/** The maker's beta features that the client requests. They are passed to upstreams with the dialect. */
function betasOf({ headers }: ReadRequest): string[] {
  const given = headers['anthropic-beta'];
  const listed = Array.isArray(given) ? given.join() : (given ?? '');
  return listed.split(',').flatMap((word) => (/^[\w.-]{1,100}$/.test(word.trim()) ? [word.trim()] : []));
}

/** The engine reads the body itself, because the body already has the dialect's form (beyond 11.8). */
function read(body: Body, request: ReadRequest): DialectCall {
  const betas = betasOf(request);
  return {
    input: betas.length === 0 ? body : { ...body, betas },
    streams: body['stream'] === true,
    events: () => messageEvents(request.requestId),
  };
}

const EXAMPLE = { model: 'sandbox/chat-basic', messages: [{ role: 'user', content: 'Hello' }] };

export const messageRoutes: Route[] = [
  {
    method: 'POST',
    path: '/messages',
    operationId: 'createMessage',
    tag: 'Messages',
    summary: 'Answer in the form of the Messages convention',
    description: 'With `stream: true` the answer comes as typed Server-Sent Events.',
    mayNotFind: true,
    operation: 'createModelMessage',
    streamOperation: 'modelMessageStream',
    dialect: 'messages',
    read,
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      schema: REQUEST_SCHEMA,
      example: { ...EXAMPLE, max_tokens: 100 },
    },
    headers: {
      'X-Penstock-Tools-Left-Out': {
        description:
          'Types of tools that were removed, because only their maker can run them; absent if there were none.',
        schema: { type: 'string' },
      },
    },
    describe: () => MESSAGE_SCHEMA,
    describeEvent: () => EVENT_SCHEMA,
    schemaName: 'Message',
  },
  {
    method: 'POST',
    path: '/messages/count_tokens',
    operationId: 'countMessageTokens',
    tag: 'Messages',
    summary: 'Count the input tokens of a message before the call',
    description: "Free of charge; it takes a slot of the key's rate window.",
    document: `query ($input: ModelMessageInput!) { body: modelMessageTokens(input: $input) { input_tokens: inputTokens } }`,
    mayNotFind: true,
    dialect: 'messages',
    body: { limitBytes: BODY_LIMITS.large, open: true, schema: COUNT_REQUEST_SCHEMA, example: EXAMPLE },
    describe: () => TOKENS_SCHEMA,
    schemaName: 'MessageTokens',
  },
];
