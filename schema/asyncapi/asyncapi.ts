import {
  JOB_EVENT_TYPES,
  object,
  RESPONSE_EVENT_DATA,
  RUN_EVENT_DATA,
  USAGE_EVENT_DATA,
  WEBHOOK_EVENT_DATA,
  WEBHOOK_TEST_DATA,
} from './events.js';
import type { EventSchema } from './events.js';

interface MessageSpec {
  type: string;
  data: EventSchema;
  /** Jobs, runs, responses and ledgers number their events; organisations' events have no order. */
  numbered: boolean;
}

function envelope({ type, data, numbered }: MessageSpec): EventSchema {
  return object({
    id: { type: 'string', description: 'Unique; consumers deduplicate by it.' },
    type: { const: type },
    ...(numbered
      ? {
          sequence: {
            type: 'integer',
            minimum: 1,
            description: 'Counts 1, 2, 3 and so on for each job, run, response or ledger.',
          },
        }
      : {}),
    orgId: { type: 'string' },
    timestamp: { type: 'string', format: 'date-time' },
    data,
  });
}

const TRACE = {
  'traceparent?': { type: 'string', description: 'W3C trace context, if the installation sends traces.' },
};
const KAFKA = { 'event-id': { type: 'string' }, 'event-type': { type: 'string' }, ...TRACE };
const KAFKA_HEADERS = object(KAFKA);
const LETTER_HEADERS = object({
  'event-id?': KAFKA['event-id'],
  'event-type?': KAFKA['event-type'],
  ...TRACE,
  topic: { type: 'string', description: 'The topic of the original message.' },
  partition: { type: 'string', pattern: '^\\d+$' },
  offset: { type: 'string', pattern: '^\\d+$' },
  group: { type: 'string', description: 'The consumer that could not process it.' },
  error: { type: 'string', description: 'The reason.' },
});

const HEX = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const WEBHOOK_HEADERS = object({
  'x-service-signature': {
    ...HEX,
    description: 'Lower-case hex HMAC-SHA256 of `<timestamp>:<raw body>` under the signing secret.',
  },
  'x-service-signature-next?': {
    ...HEX,
    description: "During a rotation's overlap: the same with the new secret.",
  },
  'x-service-timestamp': {
    type: 'string',
    description: 'Unix seconds; refuse a timestamp that differs from your clock by more than 300 seconds.',
  },
  'x-service-event-id': { type: 'string' },
  'x-service-event-type': { type: 'string' },
  ...TRACE,
});

const nameOf = (prefix: string, type: string): string => `${prefix}_${type.replaceAll('.', '_')}`;

function messages(prefix: string, specs: MessageSpec[], headers: EventSchema): Record<string, unknown> {
  const entries = specs.map((spec) => [
    nameOf(prefix, spec.type),
    { name: spec.type, contentType: 'application/json', headers, payload: envelope(spec) },
  ]);
  return Object.fromEntries(entries);
}

interface ChannelSpec {
  prefix: string;
  address: string;
  description: string;
  specs: MessageSpec[];
  extra?: Record<string, unknown>;
}

function channel({ prefix, address, description, specs, extra = {} }: ChannelSpec): Record<string, unknown> {
  const refs = specs.map(({ type }) => {
    const name = nameOf(prefix, type);
    return [name, { $ref: `#/components/messages/${name}` }];
  });
  return { address, description, messages: Object.fromEntries(refs), ...extra };
}

interface Specs {
  webhooks: MessageSpec[];
  jobs: MessageSpec[];
  agents: MessageSpec[];
  responses: MessageSpec[];
  events: MessageSpec[];
  usage: MessageSpec[];
}

function channels({ jobs, agents, responses, events, usage, webhooks }: Specs): Record<string, unknown> {
  const kafka = { parameters: { prefix: { description: 'The setting KAFKA_PREFIX.', default: 'penstock' } } };
  return {
    jobs: channel({
      prefix: 'jobs',
      address: '{prefix}.jobs',
      description: 'The events of jobs. Key: job id; in order within a job.',
      specs: jobs,
      extra: kafka,
    }),
    agents: channel({
      prefix: 'agents',
      address: '{prefix}.agents',
      description: 'The events of agent runs. Key: run id; in order within a run.',
      specs: agents,
      extra: kafka,
    }),
    responses: channel({
      prefix: 'responses',
      address: '{prefix}.responses',
      description:
        'The events of responses in the background, in the batches in which readers get them. Key: response id; in order within a response.',
      specs: responses,
      extra: kafka,
    }),
    events: channel({
      prefix: 'events',
      address: '{prefix}.events',
      description: 'The events that webhooks deliver. Key: organisation id.',
      specs: events,
      extra: kafka,
    }),
    usage: channel({
      prefix: 'usage',
      address: '{prefix}.usage',
      description:
        "New rows of the ledger. Key: organisation id; in order within an organisation. `usage.period` sets a period's balance to its `opening`; each other message adds `amounts` to the used amounts of its period, and `granted` to the added amounts.",
      specs: usage,
      extra: kafka,
    }),
    deadLetters: {
      address: '{prefix}.dead-letter',
      description:
        'Messages that a consumer could not process, with their keys, bytes and headers. `cli -- dead-letters` lists and replays them.',
      messages: { dead_letter: { $ref: '#/components/messages/dead_letter' } },
      ...kafka,
    },
    webhooks: channel({
      prefix: 'webhooks',
      address: '{path}',
      description:
        "HTTP POST to a registration's URL. Any 2xx acknowledges it. A delivery has five attempts; ten failed attempts in a row disable the webhook.",
      specs: webhooks,
      extra: { parameters: { path: { description: 'The URL of the registration.' } } },
    }),
  };
}

/**
 * The content of `schema/asyncapi.yaml`: the Kafka topics and the webhooks (ADR 8, decisions 6 "Kafka messages").
 * @param job JSON Schema of a job as GET /jobs/{jobId} shows it
 */
export function asyncApiDocument(job: EventSchema): Record<string, unknown> {
  const numbered = (type: string, data: EventSchema): MessageSpec => ({ type, data, numbered: true });
  const jobs = JOB_EVENT_TYPES.map((type) => numbered(type, job));
  const agents = Object.entries(RUN_EVENT_DATA).map(([type, data]) => numbered(type, data));
  const responses = Object.entries(RESPONSE_EVENT_DATA).map(([type, data]) => numbered(type, data));
  const usage = Object.entries(USAGE_EVENT_DATA).map(([type, data]) => numbered(type, data));
  const events = Object.entries(WEBHOOK_EVENT_DATA).map(([type, data]) => ({ type, data, numbered: false }));
  const webhooks = [...events, { type: 'webhook.test', data: WEBHOOK_TEST_DATA, numbered: false }];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Penstock events',
      version: '1.0.0',
      description:
        'The Kafka topics of an installation and the webhooks that it sends. Delivery is at least once: deduplicate by the event id. A message over 900 kB has `outputData: null, truncated: true`.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    channels: channels({ jobs, agents, responses, events, usage, webhooks }),
    operations: Object.fromEntries(
      ['jobs', 'agents', 'responses', 'events', 'usage', 'deadLetters', 'webhooks'].map((name) => [
        `send_${name}`,
        { action: 'send', channel: { $ref: `#/channels/${name}` } },
      ]),
    ),
    components: {
      messages: {
        ...messages('jobs', jobs, KAFKA_HEADERS),
        ...messages('agents', agents, KAFKA_HEADERS),
        ...messages('responses', responses, KAFKA_HEADERS),
        ...messages('events', events, KAFKA_HEADERS),
        ...messages('usage', usage, KAFKA_HEADERS),
        ...messages('webhooks', webhooks, WEBHOOK_HEADERS),
        dead_letter: { name: 'dead letter', headers: LETTER_HEADERS, payload: {} },
      },
    },
  };
}
