import type { ResponseIncludable } from 'openai/resources/responses/responses';
import { invalid } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { isFields } from '../../providers/index.js';
import {
  booleanAt,
  presentFields,
  listAt,
  nameAt,
  numberAt,
  objectAt,
  oneOf,
  optional,
  textAt,
  wholeAt,
} from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

const MAX_TOKENS = 10_000_000;
const MAX_METADATA = 16;

/** A request for a response. All fields are checked, except the contents of input and tools. */
export interface ResponseRequest {
  /** The unchanged body. */
  body: Fields;
  instructions: string | null;
  /** The input items of this request, without earlier turns; each has an id. */
  items: Fields[];
  previousId: string | null;
  store: boolean;
  /** Whether it is generated in the background, without a waiting caller (beyond 12.2). */
  background: boolean;
  metadata: Record<string, string>;
  include: ReadonlySet<string>;
  truncation: 'auto' | 'disabled';
  /** The requested maximum of searches; null if only the general limit applies. */
  maxToolCalls: number | null;
  /** The fields of the chat besides messages and tools. */
  chat: Fields;
}

const INCLUDABLE: readonly ResponseIncludable[] = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
];

/** Fields of the convention that Penstock does not support. */
const REFUSED = [
  ['conversation', 'conversation is not supported: use previous_response_id'],
  ['prompt', 'prompt templates are not supported'],
] as const;

/** @throws ApiError invalid_request */
export function readResponse(body: Fields): ResponseRequest {
  for (const [name, message] of REFUSED) if (body[name] != null) throw invalid(message, name);
  const background = optional(body, 'background', booleanAt) ?? false;
  const store = optional(body, 'store', booleanAt) ?? true;
  if (background && !store)
    throw invalid('background needs store: what nobody waits for must be kept', 'store');
  optional(body, 'stream', booleanAt);
  const previousId = optional(body, 'previous_response_id', textAt) ?? null;
  const include = optional(body, 'include', listAt) ?? [];
  include.forEach((word, index) => {
    if (!INCLUDABLE.includes(word as ResponseIncludable))
      throw invalid(`include[${index}] must be one of ${INCLUDABLE.join(', ')}`, 'include');
  });
  return {
    body,
    instructions: optional(body, 'instructions', textAt) ?? null,
    items: itemsOf(body['input'], { previousId, store }),
    previousId,
    store,
    background,
    metadata: optional(body, 'metadata', metadataAt) ?? {},
    include: new Set(include as string[]),
    truncation:
      optional(body, 'truncation', (value, at) => oneOf(value, at, ['auto', 'disabled'] as const)) ??
      'disabled',
    maxToolCalls: optional(body, 'max_tool_calls', (value, at) => wholeAt(value, at, [0, 1_000_000])) ?? null,
    chat: chatFields(body),
  };
}

function metadataAt(value: unknown, where: string): Record<string, string> {
  const metadata = objectAt(value, where);
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA)
    throw invalid(`metadata must have at most ${MAX_METADATA} pairs`, 'metadata');
  for (const [name, said] of entries)
    if (name.length > 64 || typeof said !== 'string' || said.length > 512)
      throw invalid(
        'metadata must be texts of at most 512 characters, under names of at most 64',
        'metadata',
      );
  return metadata as Record<string, string>;
}

function itemsOf(
  input: unknown,
  { previousId, store }: Pick<ResponseRequest, 'previousId' | 'store'>,
): Fields[] {
  if (input == null && previousId === null) throw invalid('input is required', 'input');
  if (input == null) return [];
  if (typeof input === 'string') {
    const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] };
    // Only a stored item is read again by its id.
    return [store ? withId(message) : message];
  }
  if (!Array.isArray(input)) throw invalid('input must be a string or an array of items', 'input');
  return input.map((item: unknown, index) => withId(objectAt(item, `input[${index}]`, 'input')));
}

/** The prefixes of item ids, by type. */
const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  web_search_call: 'ws',
  function_call_output: 'fco',
  custom_tool_call_output: 'cto',
};

/** A new id for an item of this type. */
export function itemId(type: unknown): string {
  return newId(PREFIXES[String(type ?? 'message')] ?? 'item');
}

/** Whether an item is a reference to a stored item: by its type, or because it has an id but no type and no role. */
export function isReference(item: Fields): boolean {
  return item['type'] === 'item_reference' || (item['type'] == null && item['role'] == null && 'id' in item);
}

function withId(item: Fields): Fields {
  if (isReference(item)) return item;
  const { type, id, ...rest } = item;
  // Other fields stay unchanged, because makers' own items have fields that Penstock does not know.
  const known = typeof id === 'string' && id !== '' ? id : itemId(type);
  return { id: known, type: type ?? 'message', ...rest };
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const VERBOSITIES = ['low', 'medium', 'high'] as const;

/** The fields of a request that a chat has too, with the names of chat. */
function chatFields(body: Fields): Fields {
  const reasoning = optional(body, 'reasoning', objectAt) ?? {};
  const text = optional(body, 'text', objectAt) ?? {};
  const include = (body['include'] ?? []) as unknown[];
  const topLogprobs = optional(body, 'top_logprobs', (value, at) => wholeAt(value, at, [0, 20]));
  const logprobs = include.includes('message.output_text.logprobs') || (topLogprobs ?? 0) > 0;
  const fields: Fields = {
    model: body['model'],
    max_tokens: optional(body, 'max_output_tokens', (value, at) => wholeAt(value, at, [1, MAX_TOKENS])),
    temperature: optional(body, 'temperature', (value, at) => numberAt(value, at, [0, 2])),
    top_p: optional(body, 'top_p', (value, at) => numberAt(value, at, [0, 1])),
    reasoning_effort:
      reasoning['effort'] == null ? undefined : oneOf(reasoning['effort'], 'reasoning.effort', EFFORTS),
    verbosity:
      text['verbosity'] == null ? undefined : oneOf(text['verbosity'], 'text.verbosity', VERBOSITIES),
    response_format: text['format'] == null ? undefined : formatOf(text['format']),
    parallel_tool_calls: optional(body, 'parallel_tool_calls', booleanAt),
    user: optional(body, 'user', textAt),
    safety_identifier: optional(body, 'safety_identifier', textAt),
    prompt_cache_key: optional(body, 'prompt_cache_key', textAt),
    ...(logprobs ? { logprobs: true, top_logprobs: topLogprobs } : {}),
  };
  return presentFields(fields);
}

function formatOf(asked: unknown): Fields | undefined {
  const format = objectAt(asked, 'text.format', 'text');
  switch (format['type']) {
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json_object' };
    case 'json_schema': {
      const { schema, strict, description } = format;
      const name = nameAt(format['name'], 'text.format.name', 'text');
      if (!isFields(schema)) throw invalid('text.format.schema must be an object', 'text');
      const more = { ...(strict == null ? {} : { strict }), ...(description == null ? {} : { description }) };
      return { type: 'json_schema', json_schema: { name, schema, ...more } };
    }
    default:
      throw invalid('text.format.type must be text, json_object or json_schema', 'text');
  }
}
