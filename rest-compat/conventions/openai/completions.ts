import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Completion, CompletionChoice } from 'openai/resources/completions';
import { invalid } from '../../../src/contract/errors.js';
import type { DialectCall, EventWriter, JsonSchema, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { OPENAI } from './convention.js';

type Body = Record<string, unknown>;

/** Fields with the same meaning in a chat. */
const SHARED_FIELDS = [
  'model',
  'max_tokens',
  'temperature',
  'top_p',
  'n',
  'stream',
  'stream_options',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'user',
];

/** Features that chat models lack; a value that requests nothing is accepted. */
const REFUSED: Record<string, (value: unknown) => boolean> = {
  echo: (value) => value !== false,
  logprobs: (value) => value !== false,
  suffix: (value) => value !== '',
  best_of: (value) => value !== 1,
};

function promptOf(prompt: unknown): string {
  if (prompt == null) throw invalid('prompt is required', 'prompt');
  const [only, ...more] = Array.isArray(prompt) ? (prompt as unknown[]) : [prompt];
  if (typeof only !== 'string' || more.length > 0)
    throw invalid('prompt must be a string, or an array of one string', 'prompt');
  return only;
}

/** A completion is a chat of one message (beyond 11.6). @throws ApiError invalid_request */
function read(body: Body): DialectCall {
  const content = promptOf(body['prompt']);
  for (const [name, asks] of Object.entries(REFUSED))
    if (body[name] != null && asks(body[name])) throw invalid(`${name} is not supported`, name);
  const shared = SHARED_FIELDS.filter((name) => body[name] != null).map((name) => [name, body[name]]);
  return {
    input: { ...Object.fromEntries(shared), messages: [{ role: 'user', content }] } as Body,
    streams: body['stream'] === true,
    whole: async (completion, { readJson }) => ({
      body: wholeOf((await readJson(completion as string)) as ChatCompletion),
    }),
    events: completionEvents,
  };
}

type FinishReason = CompletionChoice['finish_reason'];

function choiceOf(text: string, reason: string | null) {
  // The convention's chunks have null until the last one, although its types do not allow it.
  return { text, index: 0, logprobs: null, finish_reason: reason as FinishReason };
}

function wholeOf({ choices, ...answer }: ChatCompletion): Completion {
  const [choice] = choices;
  return {
    ...answer,
    object: 'text_completion',
    choices: [choiceOf(choice?.message.content ?? '', choice?.finish_reason ?? 'stop')],
  } as Completion;
}

/** Usage has its own chunk if it was requested, and is in no other chunk. */
function completionEvents(): EventWriter {
  return {
    event(source) {
      const { choices, usage, ...chunk } = JSON.parse(source) as ChatCompletionChunk;
      const [choice] = choices;
      if (choice === undefined)
        return `data: ${JSON.stringify({ ...chunk, object: 'text_completion', choices, usage })}\n\n`;
      const text = choice.delta.content ?? '';
      if (text === '' && choice.finish_reason == null) return '';
      const made = {
        ...chunk,
        object: 'text_completion',
        choices: [choiceOf(text, choice.finish_reason ?? null)],
      };
      return `data: ${JSON.stringify(made)}\n\n`;
    },
    ending: () => 'data: [DONE]\n\n',
    fault: (error) => OPENAI.errorEvent(error, ''),
  };
}

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });

const BODY_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    model: nullable('string'),
    prompt: {
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1 }],
    },
    max_tokens: nullable('integer', { minimum: 1, maximum: 10_000_000 }),
    temperature: nullable('number', { minimum: 0, maximum: 2 }),
    top_p: nullable('number', { minimum: 0, maximum: 1 }),
    n: { enum: [1, null] },
    stream: nullable('boolean'),
    stream_options: nullable('object', { properties: { include_usage: nullable('boolean') } }),
    stop: {
      anyOf: [{ type: ['string', 'null'] }, { type: 'array', items: { type: 'string' }, maxItems: 64 }],
    },
    seed: nullable('integer'),
    frequency_penalty: nullable('number', { minimum: -2, maximum: 2 }),
    presence_penalty: nullable('number', { minimum: -2, maximum: 2 }),
    logit_bias: nullable('object', { additionalProperties: { type: 'number' } }),
    user: nullable('string'),
    echo: { enum: [false, null] },
    logprobs: { enum: [false, null] },
    suffix: { enum: ['', null] },
    best_of: { enum: [1, null] },
  },
  required: ['prompt'],
};

/** Converts a chat's answer or chunk: texts replace messages. */
function describeCompletion(schema: JsonSchema): JsonSchema {
  const { properties } = schema as { properties: JsonSchema };
  const choice = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      index: { type: 'integer' },
      logprobs: { type: 'null' },
      finish_reason: nullable('string'),
    },
    required: ['text', 'index', 'logprobs', 'finish_reason'],
  };
  const { id, created, model, model_tier, usage } = properties;
  return {
    type: 'object',
    properties: {
      id,
      object: { type: 'string', const: 'text_completion' },
      created,
      model,
      choices: { type: 'array', items: choice },
      ...(model_tier === undefined ? {} : { model_tier }),
      ...(usage === undefined ? {} : { usage }),
    },
    required: ['id', 'object', 'created', 'model', 'choices'],
  };
}

export const completionRoutes: Route[] = [
  {
    method: 'POST',
    path: '/completions',
    operationId: 'createCompletion',
    tag: 'Chat',
    summary: 'Continue a text',
    description:
      'The older form of a chat: one message of the user. `echo`, `logprobs`, `suffix` and `best_of` over 1 are refused.',
    operation: 'createChatCompletion',
    streamOperation: 'chatCompletion',
    dialect: 'completions',
    read,
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      schema: BODY_SCHEMA,
      example: { prompt: 'Once upon a time', max_tokens: 50 },
    },
    describe: describeCompletion,
    describeEvent: describeCompletion,
    schemaName: 'Completion',
  },
];
