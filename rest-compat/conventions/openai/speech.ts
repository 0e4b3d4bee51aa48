import { invalid } from '../../../src/contract/errors.js';
import { withoutAsync } from '../../contract/generation.js';
import { speechRoutes as contractRoutes } from '../../contract/speech.js';
import { SPEECH_FORMS } from '../../shared/openapi/variants.js';
import type { DialectCall, JsonSchema, LiveForm, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { pickFields, typedEvent } from './fields.js';
import type { Body } from './fields.js';

const TYPES: Record<string, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** Fields of the convention and of Penstock that the engine reads unchanged. */
const FIELDS = [
  'model',
  'input',
  'instructions',
  'response_format',
  'speed',
  'reference_audio',
  'reference_text',
  'model_inputs',
];

/** The maximum of bytes in one event. */
const EVENT_BYTES = 24 * 1024;
const NOTHING = Buffer.alloc(0);

interface Answer {
  job: { id: string };
  data: { audio_url: string };
}

/** Speech is charged by characters, so there are no tokens. */
const NO_TOKENS = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

const deltaEvent = (bytes: Buffer): string =>
  typedEvent({ type: 'speech.audio.delta', audio: bytes.toString('base64') });

function asEvents(): LiveForm<string> {
  let hasBegun = false;
  return {
    liveOptions: {},
    part(bytes) {
      hasBegun = true;
      return deltaEvent(bytes);
    },
    async *rest(answer, { readFile }) {
      const bytes = hasBegun ? NOTHING : await readFile((answer as Answer).data.audio_url);
      for (let at = 0; at < bytes.length; at += EVENT_BYTES)
        yield deltaEvent(bytes.subarray(at, at + EVENT_BYTES));
      yield typedEvent({ type: 'speech.audio.done', usage: NO_TOKENS });
    },
  };
}

/** Without events, the body is the parts of the sound. */
const AS_BYTES: LiveForm<Buffer> = {
  liveOptions: {},
  part: (bytes) => bytes,
  async *rest() {
    // The sound has no ending.
  },
};

/** A voice's name, or the convention's object of a custom one. @throws ApiError invalid_request */
function voiceOf({ voice }: Body): Body {
  if (voice == null) return {};
  const named: unknown = typeof voice === 'object' ? (voice as Body)['id'] : voice;
  if (typeof named !== 'string') throw invalid('voice must be a string', 'voice');
  return { voice: named };
}

/** @throws ApiError invalid_request */
function read(body: Body): DialectCall {
  const { stream_format: form } = body;
  if (form != null && form !== 'audio' && form !== 'sse')
    throw invalid('stream_format must be audio or sse', 'stream_format');
  const type = TYPES[String(body['response_format'] ?? 'mp3')] ?? '';
  return {
    input: { ...pickFields(body, FIELDS), ...voiceOf(body) },
    streams: form === 'sse',
    async whole(answer, { readFile }) {
      const { job, data } = answer as Answer;
      return {
        body: await readFile(data.audio_url),
        headers: { 'content-type': type, 'x-job-id': job.id },
      };
    },
    answerEvents: asEvents,
    flow: () => ({ form: AS_BYTES, type }),
  };
}

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });

const BODY_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    input: { type: 'string', minLength: 1, maxLength: 10_000 },
    model: nullable('string'),
    voice: {
      description:
        'A voice of the model. For a voice of the convention, the most similar voice of the model is used.',
      anyOf: [
        { type: ['string', 'null'], maxLength: 200 },
        { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      ],
    },
    instructions: nullable('string', { maxLength: 10_000 }),
    response_format: { enum: [...Object.keys(TYPES), null] },
    speed: nullable('number', { minimum: 0.25, maximum: 4 }),
    stream_format: { enum: ['audio', 'sse', null] },
    reference_audio: nullable('string'),
    reference_text: nullable('string', { maxLength: 10_000 }),
    model_inputs: nullable('object'),
  },
  required: ['input'],
  ...SPEECH_FORMS,
};

const event = (type: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties: { type: { type: 'string', const: type }, ...properties },
  required: ['type', ...Object.keys(properties)],
});

export const speechRoutes: readonly Route[] = contractRoutes.map(({ document }) => ({
  method: 'POST',
  path: '/audio/speech',
  operationId: 'createSpeech',
  tag: 'Audio',
  summary: 'Speak a text',
  description:
    'The answer is the sound itself. It is streamed if the model can stream. `pcm` is 24 kHz, 16 bit, mono, without a header. With `stream_format: "sse"` the answer is events.',
  document: withoutAsync(document),
  dialect: 'media',
  read,
  body: {
    limitBytes: BODY_LIMITS.large,
    open: true,
    schema: BODY_SCHEMA,
    example: { input: 'Hello, this is Penstock.', voice: 'nova', response_format: 'mp3' },
  },
  bytesOnly: true,
  alsoAnswers: Object.values(TYPES),
  answerEventSchema: {
    anyOf: [
      event('speech.audio.delta', { audio: { type: 'string', contentEncoding: 'base64' } }),
      event('speech.audio.done', { usage: { type: 'object' } }),
    ],
  },
  schemaName: 'SpeechStream',
}));
