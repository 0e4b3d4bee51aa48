import { EDIT_OPERATIONS } from '../../../src/contract/edit-operations.js';
import { EDIT_FORMS_AT_V1 } from '../../shared/openapi/variants.js';
import type { JsonSchema } from '../../shared/route.types.js';

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });
const oneOf = (...words: string[]): JsonSchema => ({ enum: [...words, null] });

const SHARED: Record<string, JsonSchema> = {
  model: nullable('string'),
  quality: oneOf('auto', 'low', 'medium', 'high', 'standard', 'hd'),
  background: oneOf('auto', 'opaque', 'transparent'),
  output_format: oneOf('png', 'jpeg', 'webp'),
  output_compression: nullable('integer', { minimum: 0, maximum: 100 }),
  response_format: oneOf('url', 'b64_json'),
  stream: nullable('boolean'),
  partial_images: nullable('integer', { minimum: 0, maximum: 3 }),
  user: { description: 'It changes nothing; any value is accepted.' },
};

export const GENERATION_BODY: JsonSchema = {
  type: 'object',
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: 32_000 },
    ...SHARED,
    n: nullable('integer', { minimum: 1, maximum: 10 }),
    size: oneOf('auto', '512x512', '1024x1024', '1792x1024', '1024x1792', '1536x1024', '1024x1536'),
    style: oneOf('vivid', 'natural'),
    negative_prompt: nullable('string', { maxLength: 32_000 }),
    seed: nullable('integer', { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
    upscale: oneOf('none', '2x', '4x'),
  },
  required: ['prompt'],
};

const NON_BLANK: JsonSchema = { type: 'string', minLength: 1, pattern: '\\S' };
const PICTURE: JsonSchema = {
  description: 'URL, data: URL or base64 of a JPEG, PNG or WebP image, up to 20 MB.',
  anyOf: [NON_BLANK, { type: 'object', properties: { image_url: NON_BLANK }, required: ['image_url'] }],
};
const PICTURES: JsonSchema = {
  description: 'One picture. Null and an empty array count as absent.',
  anyOf: [PICTURE, { type: 'array', items: PICTURE, maxItems: 1 }, { type: 'null' }],
};

const NONE: JsonSchema = { anyOf: [{ type: 'null' }, { type: 'array', maxItems: 0 }] };
const ONE: JsonSchema = { anyOf: [PICTURE, { type: 'array', items: PICTURE, minItems: 1, maxItems: 1 }] };

/** The picture is in one of the two fields. */
const ONE_PICTURE: JsonSchema = {
  anyOf: [
    { properties: { image: ONE, images: NONE }, required: ['image'] },
    { properties: { image: NONE, images: ONE }, required: ['images'] },
  ],
};

/** 10 to 4096. */
const SIDE = '([1-9][0-9]{1,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-6])';

export const EDIT_BODY: JsonSchema = {
  type: 'object',
  properties: {
    image: PICTURES,
    images: PICTURES,
    mask: { anyOf: [PICTURE, { type: 'null' }] },
    prompt: nullable('string', { maxLength: 32_000 }),
    operation: oneOf(...EDIT_OPERATIONS),
    ...SHARED,
    n: { enum: [1, null] },
    size: nullable('string', {
      description: '`auto`, or the size of the result: `<width>x<height>`, each from 10 to 4096.',
      pattern: `^(auto|${SIDE}x${SIDE})$`,
    }),
    strength: nullable('number', { minimum: 0, maximum: 1 }),
    direction: oneOf('left', 'right', 'top', 'bottom', 'all'),
    expand_pixels: nullable('integer', { minimum: 1, maximum: 2048 }),
    new_background: nullable('string', { maxLength: 32_000 }),
    scale: { enum: [2, 4, null] },
    model_inputs: nullable('object'),
  },
  ...ONE_PICTURE,
  ...EDIT_FORMS_AT_V1,
};

interface Described {
  [name: string]: JsonSchema;
  data: JsonSchema & { items: JsonSchema & { properties: Record<string, JsonSchema> } };
  usage: JsonSchema & { properties: Record<string, JsonSchema>; required: string[] };
}

const COUNT: JsonSchema = { type: 'integer' };
const DETAILS: JsonSchema = {
  type: 'object',
  properties: { image_tokens: COUNT, text_tokens: COUNT },
  required: ['image_tokens', 'text_tokens'],
};
const PICTURE_FACTS: Record<string, JsonSchema> = {
  output_format: { type: 'string', enum: ['png', 'jpeg', 'webp'] },
  background: { type: 'string', enum: ['transparent', 'opaque'] },
  size: { type: 'string' },
};

/** A result with the convention's fields; fields that an item lacks are omitted. */
export function describeImages(schema: JsonSchema): JsonSchema {
  const { job: _, data, usage, ...rest } = schema['properties'] as Described;
  const items = { ...data.items, required: ['width', 'height'] };
  const counted = {
    ...usage,
    type: 'object',
    properties: { ...usage.properties, input_tokens_details: DETAILS },
    required: [...usage.required, 'input_tokens_details'],
  };
  const properties = {
    ...rest,
    data: { ...data, type: 'array', items },
    usage: counted,
    ...PICTURE_FACTS,
  };
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** The events with a picture: previews, and the complete picture. */
export function eventsOf(of: 'image_generation' | 'image_edit'): JsonSchema {
  const event = (word: string, more: Record<string, JsonSchema>): JsonSchema => {
    const properties = {
      type: { type: 'string', const: `${of}.${word}` },
      b64_json: { type: 'string' },
      created_at: COUNT,
      quality: { type: 'string' },
      ...PICTURE_FACTS,
      ...more,
    };
    return { type: 'object', properties, required: Object.keys(properties) };
  };
  return {
    anyOf: [
      event('partial_image', { partial_image_index: COUNT }),
      event('completed', { usage: { type: 'object' } }),
    ],
  };
}
