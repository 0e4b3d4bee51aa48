import { GraphQLScalarType, Kind } from 'graphql';
import { GraphQLDateTimeISO, GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars';

/** Any JSON value. */
export const Json = GraphQLJSON;
/** ISO 8601 with milliseconds, UTC. A Date of ours needs none of the package's checks, which cost more than a whole row of a list. */
export const DateTime = new GraphQLScalarType<Date, unknown>({
  ...GraphQLDateTimeISO.toConfig(),
  serialize: (value) => (value instanceof Date ? value.toISOString() : GraphQLDateTimeISO.serialize(value)),
});
/** An integer of up to 53 bits. */
export const SafeInt = GraphQLSafeInt;

/** An amount of money in USD. As a text it is exact. */
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
    'An amount of a budget: of USD an exact decimal as a string (`"12.50"`), of a bucket a number of its units. As an input, a string or a number.',
  serialize: readAmount,
  parseValue: readAmount,
  parseLiteral(node) {
    if (node.kind !== Kind.STRING && node.kind !== Kind.INT && node.kind !== Kind.FLOAT)
      throw new TypeError('BudgetAmount must be a number or a string');
    return node.value;
  },
});

/** A string that the service checks: the contract's words that GraphQL cannot name (`1024x1024`, `2x`). */
function word(name: string, values: string[], description: string): GraphQLScalarType<string, string> {
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
/** Written as a string or, in a document, as a bare word: callers know it as either. */
export const ChatRole = word(
  'ChatRole',
  ['system', 'user', 'assistant', 'tool', 'function'],
  "The role of a message's author; `function` is the older form of `tool`.",
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
