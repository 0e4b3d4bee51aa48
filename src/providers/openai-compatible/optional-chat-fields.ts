import type { ChatCall } from '../providers.types.js';
import type { OptionalFields } from './optional-fields.js';

type Fields = Record<string, unknown>;

/** Fields that change no answer, whatever they say. */
const HINTS = ['user', 'safety_identifier', 'prompt_cache_key', 'prediction', 'metadata', 'stream_options'];

const isEmpty = (value: unknown): boolean => Object.keys((value ?? {}) as object).length === 0;

/** Fields that ask for nothing where they say this. */
const USUAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  top_p: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: isEmpty,
  parallel_tool_calls: (value) => value === true,
  response_format: (value) => (value as Fields | null)?.['type'] === 'text',
  tool_choice: (value) => value === 'auto',
  function_call: (value) => value === 'auto',
};

const usualIn = (body: Fields): string[] =>
  Object.keys(USUAL).filter((name) => body[name] != null && USUAL[name]?.(body[name]) === true);

/** The fields of a chat request that may be left out for an upstream that refuses them. The token cap is not among them: its name is changed instead. */
export function optionalOfChat({ body, outputCap, optional = [] }: ChatCall): OptionalFields {
  return Object.fromEntries([...HINTS, ...usualIn(body), ...optional, outputCap].map((name) => [name, []]));
}

/** The same for a request in a provider's own form, which has no hints. The token cap is not among them either: it has one name there. */
export function optionalOfNative(
  { body, optional = [] }: Pick<ChatCall, 'body' | 'optional'>,
  words: OptionalFields,
): OptionalFields {
  return Object.fromEntries([...usualIn(body), ...optional].map((name) => [name, words[name] ?? []]));
}

const SPELLINGS = ['max_tokens', 'max_completion_tokens'] as const;

/** The field's name for the token cap: an upstream that refuses one name gets the other. */
export function capName(outputCap: ChatCall['outputCap'], without: ReadonlySet<string>): string {
  if (!without.has(outputCap)) return outputCap;
  return SPELLINGS.find((name) => name !== outputCap) ?? outputCap;
}
