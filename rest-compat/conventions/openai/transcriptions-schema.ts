import type { JsonSchema } from '../../shared/route.types.js';

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });
const listOf = (...words: string[]): JsonSchema => ({ items: { type: 'string', enum: words } });
const NUMBER: JsonSchema = { type: 'number' };
const TEXT: JsonSchema = { type: 'string' };

const SHARED: Record<string, JsonSchema> = {
  file: {
    type: 'string',
    minLength: 1,
    description: 'URL, data: URL or base64 of the recording, up to 25 MB.',
  },
  model: nullable('string'),
  prompt: nullable('string', { maxLength: 10_000 }),
  temperature: nullable('number', { minimum: 0, maximum: 1 }),
  model_inputs: nullable('object'),
};

/** Parameters of a translation into English. */
export const TRANSLATION_BODY: JsonSchema = {
  type: 'object',
  properties: { ...SHARED, response_format: { enum: ['json', 'text', 'srt', 'verbose_json', 'vtt', null] } },
  required: ['file'],
};

export const TRANSCRIPTION_BODY: JsonSchema = {
  type: 'object',
  properties: {
    ...SHARED,
    response_format: { enum: ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json', null] },
    language: nullable('string', { pattern: '^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}|auto)?$' }),
    diarization: nullable('boolean'),
    timestamp_granularities: nullable('array', { minItems: 1, ...listOf('segment', 'word') }),
    include: nullable('array', listOf('logprobs')),
    chunking_strategy: { anyOf: [{ enum: ['auto', null] }, { type: 'object' }] },
    stream: nullable('boolean'),
  },
  required: ['file'],
};

const SEGMENT: JsonSchema = {
  type: 'object',
  properties: { start: NUMBER, end: NUMBER, text: TEXT, speaker: TEXT },
  required: ['start', 'end', 'text'],
};

/** Its fields depend on `response_format`. */
export const TRANSCRIPT: JsonSchema = {
  type: 'object',
  properties: {
    text: TEXT,
    usage: {
      type: 'object',
      properties: { type: { type: 'string', const: 'duration' }, seconds: { type: 'integer' } },
      required: ['type', 'seconds'],
    },
    task: { type: 'string', enum: ['transcribe', 'translate'] },
    language: TEXT,
    duration: NUMBER,
    segments: { type: 'array', items: SEGMENT },
    words: {
      type: 'array',
      items: {
        type: 'object',
        properties: { word: TEXT, start: NUMBER, end: NUMBER },
        required: ['word', 'start', 'end'],
      },
    },
  },
  required: ['text', 'usage'],
};

const event = (type: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties: { type: { type: 'string', const: type }, ...properties },
  required: ['type', ...Object.keys(properties)],
});

export const TRANSCRIPT_EVENT: JsonSchema = {
  anyOf: [
    event('transcript.text.delta', { delta: TEXT }),
    event('transcript.text.segment', { id: TEXT, start: NUMBER, end: NUMBER, text: TEXT, speaker: TEXT }),
    event('transcript.text.done', { text: TEXT, usage: { type: 'object' } }),
  ],
};
