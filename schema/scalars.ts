import { GraphQLScalarType, Kind } from 'graphql';
import { GraphQLDateTimeISO, GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars';
import { JOB_EVENT_TYPES } from '../src/jobs/jobs.types.js';
import { WEBHOOK_EVENT_TYPES } from '../src/webhooks/webhook.types.js';

/** Any JSON value. */
export const Json = GraphQLJSON;
/** Our own dates and their texts need no checks of the package, which cost more than a whole row of a list. */
export const DateTime = new GraphQLScalarType<Date, unknown>({
  ...GraphQLDateTimeISO.toConfig(),
  name: 'DateTime',
  description: 'A time in ISO 8601, UTC, with milliseconds: `2026-11-20T09:30:00.000Z`.',
  serialize(value) {
    if (value instanceof Date) return value.toISOString();
    return typeof value === 'string' ? value : GraphQLDateTimeISO.serialize(value);
  },
});
/** An integer of up to 53 bits. */
export const SafeInt = GraphQLSafeInt;

/** An amount of money in USD; a string keeps it exact. */
export const Decimal = new GraphQLScalarType<string, string>({
  name: 'Decimal',
  description: 'A decimal number as a string, exact: `0.0025`.',
  serialize: String,
  parseValue(value) {
    if (typeof value !== 'string') throw new TypeError('Decimal must be a string');
    return value;
  },
});

function readAmount(value: unknown): string | number {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new TypeError('BudgetAmount must be a number or a string');
  return value;
}

/** An amount in USD is a string, like all money; an amount of a bucket is a number, like all of its amounts. */
export const BudgetAmount = new GraphQLScalarType<string | number, string | number>({
  name: 'BudgetAmount',
  description:
    'An amount of a budget: an exact decimal in USD as a string (`"12.50"`), or a number of units of a bucket. As an input, a string or a number.',
  serialize: readAmount,
  parseValue: readAmount,
  parseLiteral(node) {
    if (node.kind !== Kind.STRING && node.kind !== Kind.INT && node.kind !== Kind.FLOAT)
      throw new TypeError('BudgetAmount must be a number or a string');
    return node.value;
  },
});

/** A string that the service checks: the contract's words that GraphQL cannot name (`1024x1024`, `2x`). */
function word(
  name: string,
  values: readonly string[],
  description: string,
): GraphQLScalarType<string, string> {
  return new GraphQLScalarType<string, string>({
    name,
    description: `${description} One of: ${values.map((value) => `\`${value}\``).join(', ')}.`,
    extensions: { values },
    serialize: String,
    parseValue(value) {
      if (typeof value !== 'string') throw new TypeError(`${name} must be a string`);
      return value;
    },
  });
}

export const ImageSize = word(
  'ImageSize',
  ['512x512', '1024x1024', '1792x1024', '1024x1792', '1536x1024', '1024x1536'],
  'Width and height of an image in pixels.',
);
export const ImageUpscale = word(
  'ImageUpscale',
  ['none', '2x', '4x'],
  'Factor by which each side of an image is multiplied.',
);
export const VideoResolution = word(
  'VideoResolution',
  ['720p', '1080p', '4k'],
  'Lines of the shorter side of a video.',
);
export const VideoAspectRatio = word(
  'VideoAspectRatio',
  ['16:9', '9:16', '1:1', '4:3', '3:4'],
  'Width to height of a video.',
);
export const PriceUnit = word(
  'PriceUnit',
  ['1k_tokens', '100_documents', 'image', 'edit', 'second', 'track', 'character'],
  'What a price is for.',
);
export const JobEventType = word('JobEventType', JOB_EVENT_TYPES, 'The type of an event of a job.');
export const WebhookEventType = word(
  'WebhookEventType',
  [...WEBHOOK_EVENT_TYPES, 'webhook.test'],
  'The type of an event that webhooks send; `webhook.test` is sent by `testWebhook` alone.',
);
