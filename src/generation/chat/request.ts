import { invalid } from '../../contract/errors.js';
import type { Attribution } from '../../metering/metering.types.js';
import type { Model } from '../../models/models.types.js';
import type { ChatBody } from '../../providers/index.js';
import type { FurtherParts, InputFile } from './documents.js';
import type { ImageReader } from './images.js';
import { readMessages } from './messages.js';
import type { ReadMessages } from './messages.js';
import { addTexts } from './texts.js';

const MAX_TOKENS = 10_000_000;
const MAX_TOOLS = 128;
/** The convention's own limit is 4; some upstreams accept more. */
const MAX_STOPS = 64;

type Body = Record<string, unknown>;
type Check = (value: unknown, name: string) => void;

const between =
  (low: number, high: number): Check =>
  (value, name) => {
    if (typeof value !== 'number' || !(value >= low && value <= high)) {
      throw invalid(`${name} must be between ${low} and ${high}`, name);
    }
  };
const typed =
  (type: 'string' | 'boolean'): Check =>
  (value, name) => {
    if (typeof value !== type) throw invalid(`${name} must be a ${type}`, name);
  };
const wholeBetween =
  (low: number, high: number): Check =>
  (value, name) => {
    if (!Number.isSafeInteger(value) || (value as number) < low || (value as number) > high) {
      throw invalid(`${name} must be a whole number between ${low} and ${high}`, name);
    }
  };
const isFields = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const object: Check = (value, name) => {
  if (!isFields(value)) throw invalid(`${name} must be an object`, name);
};

const stop: Check = (value, name) => {
  if (!Array.isArray(value) && typeof value !== 'string')
    throw invalid(`${name} must be a string or an array of strings`, name);
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length > MAX_STOPS) throw invalid(`${name} must have at most ${MAX_STOPS} strings`, name);
  list.forEach((item, index) => {
    if (typeof item !== 'string') throw invalid(`${name}[${index}] must be a string`, name);
  });
};
/** @param where the path in the message; the error's `param` is the field of the request */
type CheckWithin = (value: unknown, where: string, param: string) => void;

const listOf =
  (check: CheckWithin): Check =>
  (value, name) => {
    if (!Array.isArray(value) || value.length > MAX_TOOLS)
      throw invalid(`${name} must be an array of at most ${MAX_TOOLS} functions`, name);
    value.forEach((item: unknown, index) => check(item, `${name}[${index}]`, name));
  };
const functionWithin: CheckWithin = (value, where, param) => {
  if (!isFields(value)) throw invalid(`${where} must be an object`, param);
  if (typeof value['name'] !== 'string' || value['name'] === '')
    throw invalid(`${where}.name is required`, param);
};
const toolWithin: CheckWithin = (value, where, param) => {
  if (!isFields(value)) throw invalid(`${where} must be an object`, param);
  if (value['type'] != null && value['type'] !== 'function')
    throw invalid(`${where}.type must be function`, param);
  if (value['function'] == null) throw invalid(`${where}.function is required`, param);
  functionWithin(value['function'], `${where}.function`, param);
};
const functionCall: Check = (value, name) => {
  const named = isFields(value) && typeof value['name'] === 'string';
  if (!named && !['none', 'auto'].includes(value as string)) {
    throw invalid(`${name} must be none, auto or the name of a function`, name);
  }
};
const toolChoice: Check = (value, name) => {
  if (!isFields(value) && !['none', 'auto', 'required'].includes(value as string)) {
    throw invalid(`${name} must be none, auto, required or a function`, name);
  }
};
const responseFormat: Check = (value, name) => {
  if (!isFields(value) || !['text', 'json_object', 'json_schema'].includes(value['type'] as string)) {
    throw invalid(`${name}.type must be text, json_object or json_schema`, name);
  }
  if (value['type'] === 'json_schema' && !isFields(value['json_schema']))
    throw invalid(`${name}.json_schema is required`, name);
};
const streamOptions: Check = (value, name) => {
  if (!isFields(value)) throw invalid(`${name} must be an object`, name);
  const include = value['include_usage'];
  if (include != null && typeof include !== 'boolean')
    throw invalid(`${name}.include_usage must be a boolean`, name);
};
const one: Check = (value, name) => {
  if (value !== 1) throw invalid(`${name} must be 1`, name);
};

/** The only parameters that go upstream besides model, messages, maximum and stream, so that a caller cannot control a gateway behind Penstock. */
const PASSED_ON: Record<string, Check> = {
  temperature: between(0, 2),
  top_p: between(0, 1),
  frequency_penalty: between(-2, 2),
  presence_penalty: between(-2, 2),
  stop,
  user: typed('string'),
  tools: listOf(toolWithin),
  tool_choice: toolChoice,
  functions: listOf(functionWithin),
  function_call: functionCall,
  parallel_tool_calls: typed('boolean'),
  response_format: responseFormat,
  seed: wholeBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  logprobs: typed('boolean'),
  top_logprobs: wholeBetween(0, 20),
  logit_bias: object,
  reasoning_effort: typed('string'),
  verbosity: typed('string'),
  prediction: object,
  prompt_cache_key: typed('string'),
  safety_identifier: typed('string'),
};
/** Parameters that Penstock itself checks and uses. */
const USED_HERE: Record<string, Check> = {
  max_tokens: wholeBetween(1, MAX_TOKENS),
  max_completion_tokens: wholeBetween(1, MAX_TOKENS),
  stream: typed('boolean'),
  stream_options: streamOptions,
  web_search: typed('boolean'),
  n: one,
};
const CHECKS = new Map(
  [PASSED_ON, USED_HERE].flatMap((checks) =>
    Object.entries(checks).map(
      ([name, check]) => [name, { check, isPassedOn: checks === PASSED_ON }] as const,
    ),
  ),
);

/** Objects that may hold text for the model; tools are counted as the JSON that they are. */
const WITH_TEXT: ReadonlySet<string> = new Set([
  'response_format',
  'prediction',
  'tool_choice',
  'function_call',
]);

/** A chat request whose every field was checked. */
export interface ChatRequest extends Omit<ReadMessages, 'messages'> {
  /** For the upstream, without model, maximum of tokens and stream. */
  upstreamBody: ChatBody;
  /** All other fields. The upstream gets those that its entry allows, unchanged and unchecked. */
  others: Body;
  /** The requested maximum, or the default; not yet reduced to what the model and the quota allow. */
  maxTokens: number;
  includeUsage: boolean;
  webSearch: boolean;
  /** Whose parts are still to be filled in. */
  files: readonly InputFile[];
  /** Whom the call is counted for. */
  attribution: Attribution;
}

export interface ReadingOptions {
  readImage: ImageReader;
  /** One for each request. */
  further: FurtherParts;
  /** The default of `max_tokens`. */
  defaultTokens: number;
  attribution: Attribution;
}

/**
 * Checks a chat request (contract 4.1, decisions 6 "Chat"). Unknown fields are ignored, null counts as absent.
 * @throws ApiError invalid_request with `param`
 */
export function readChatRequest(
  body: Body,
  { readImage, further, defaultTokens, attribution }: ReadingOptions,
): ChatRequest {
  const { messages, ...read } = readMessages(body['messages'], { readImage, further });
  const upstreamBody: ChatBody = { messages };
  // Loops over the given fields: most requests have few.
  for (const name in body) {
    const value = body[name];
    const known = value == null ? undefined : CHECKS.get(name);
    if (known === undefined) continue;
    known.check(value, name);
    if (known.isPassedOn && !isEmptyList(value)) upstreamBody[name] = value;
    if (isFields(value) && WITH_TEXT.has(name)) addTexts(value, read.texts);
  }
  leaveOutChoices(upstreamBody, body);
  if (upstreamBody['tools'] != null && upstreamBody['functions'] != null)
    throw invalid('functions cannot be used beside tools', 'functions');
  const offered = upstreamBody['tools'] ?? upstreamBody['functions'];
  if (offered != null) read.texts.push(JSON.stringify(offered));
  return {
    ...read,
    upstreamBody,
    others: body,
    maxTokens: (body['max_completion_tokens'] ?? body['max_tokens'] ?? defaultTokens) as number,
    includeUsage:
      (body['stream_options'] as { include_usage?: unknown } | null | undefined)?.include_usage === true,
    webSearch: body['web_search'] === true,
    files: further.files,
    attribution,
  };
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/**
 * Removes an empty list of tools together with the other tool parameters, which many upstreams refuse without tools. A required tool call stays,
 * and is refused.
 */
function leaveOutChoices(upstreamBody: ChatBody, given: Body): void {
  if (!isEmptyList(given['tools']) && !isEmptyList(given['functions'])) return;
  if (upstreamBody['tools'] != null || upstreamBody['functions'] != null) return;
  delete upstreamBody['parallel_tool_calls'];
  for (const name of ['tool_choice', 'function_call'])
    if (['auto', 'none'].includes(upstreamBody[name] as string)) delete upstreamBody[name];
}

/** The request's body for a model: with the further fields that its entry allows (docs/models.md). */
export function bodyFor({ upstreamBody, others }: ChatRequest, { upstream }: Model): ChatBody {
  const given = allowedOf(others, upstream?.allowedParameters ?? []);
  return given.length === 0 ? upstreamBody : { ...Object.fromEntries(given), ...upstreamBody };
}

/** Texts in the fields that an entry allows, which may be part of the prompt. */
export function allowedTexts({ others }: ChatRequest, { upstream }: Model): string[] {
  return allowedOf(others, upstream?.allowedParameters ?? []).flatMap(([, value]) =>
    typeof value === 'string' ? [value] : typeof value === 'object' ? [JSON.stringify(value)] : [],
  );
}

function allowedOf(others: Body, allowed: readonly string[]): [string, unknown][] {
  return allowed.flatMap((name) =>
    Object.hasOwn(others, name) && others[name] != null ? [[name, others[name]] as [string, unknown]] : [],
  );
}
