import { ApiError, invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import {
  booleanAt,
  presentFields,
  listAt,
  numberAt,
  objectAt,
  oneOf,
  optional,
  textAt,
  wholeAt,
} from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

const MAX_TOKENS = 10_000_000;
const LEAST_BUDGET = 1024;

/** A request for a message. All fields are checked, except messages and tools. */
export interface MessageRequest {
  /** The unchanged body. */
  body: Fields;
  /** The requested budget of thinking tokens; null if there is none, or the model decides. */
  budget: number | null;
  stops: readonly string[];
  /** Beta features of the maker that the caller's client requests. */
  betas: readonly string[];
  /** The fields of the chat besides messages and tools. */
  chat: Fields;
}

/** Fields for conversations that the maker stores; no upstream may store them for us. */
const THREADS = /^message-threads/;

/**
 * Clients offer to store a conversation on the server, and send it completely if the server does not have it. Penstock stores none.
 * @throws ApiError not_found if a stored conversation should be continued
 */
function checkThread(value: unknown): void {
  const { type, previous_message_id: id } = objectAt(value, 'thread');
  if (oneOf(type, 'thread.type', ['create', 'continue']) === 'create') return;
  textAt(id, 'thread.previous_message_id', 'thread');
  throw new ApiError('not_found', 'The thread is not held here: send the whole conversation', {
    param: 'thread',
    reason: 'thread_not_found',
  });
}

/** With this beta feature, a budget covers a whole turn of several answers. */
const INTERLEAVED = /^interleaved-thinking/;

/** @throws ApiError invalid_request */
export function readMessageRequest(body: Fields): MessageRequest {
  optional(body, 'stream', booleanAt);
  const betas = (optional(body, 'betas', textsAt) ?? []).filter((beta) => !THREADS.test(beta));
  optional(body, 'thread', checkThread);
  const maxTokens = optional(body, 'max_tokens', (value, at) => wholeAt(value, at, [1, MAX_TOKENS]));
  const metadata = optional(body, 'metadata', objectAt) ?? {};
  if (metadata['user_id'] != null) textAt(metadata['user_id'], 'metadata.user_id', 'metadata');
  const thinking = optional(body, 'thinking', objectAt) ?? {};
  const budget = budgetOf(thinking);
  if (
    budget !== null &&
    maxTokens !== undefined &&
    budget >= maxTokens &&
    !betas.some((one) => INTERLEAVED.test(one))
  )
    throw invalid('max_tokens must be greater than thinking.budget_tokens', 'max_tokens');
  optional(body, 'top_k', (value, at) => wholeAt(value, at, [0, MAX_TOKENS]));
  const stops = optional(body, 'stop_sequences', textsAt) ?? [];
  return { body, budget, stops, betas, chat: chatFields(body, { maxTokens, stops, budget, thinking }) };
}

function textsAt(value: unknown, where: string): string[] {
  return listAt(value, where).map((text, index) => textAt(text, `${where}[${index}]`, where));
}

function budgetOf(thinking: Fields): number | null {
  if (thinking['type'] == null) return null;
  const words = ['enabled', 'disabled', 'adaptive', 'between_tools'] as const;
  if (oneOf(thinking['type'], 'thinking.type', words) !== 'enabled') return null;
  return wholeAt(thinking['budget_tokens'], 'thinking.budget_tokens', [LEAST_BUDGET, MAX_TOKENS]);
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];
/** The largest thinking budgets of low effort and of medium effort. */
const [SMALL_BUDGET, USUAL_BUDGET] = [4096, 16_384];

/** The reasoning effort of the chat, from the requested effort or thinking budget. */
function effortOf(
  { effort }: Fields,
  { thinking, budget }: { thinking: Fields; budget: number | null },
): string | undefined {
  if (thinking['type'] === 'disabled') return undefined;
  if (effort != null) return oneOf(effort, 'output_config.effort', EFFORTS);
  if (budget === null) return undefined;
  if (budget <= SMALL_BUDGET) return 'low';
  return budget <= USUAL_BUDGET ? 'medium' : 'high';
}

interface Read {
  maxTokens: number | undefined;
  stops: readonly string[];
  thinking: Fields;
  budget: number | null;
}

function chatFields(body: Fields, { maxTokens, stops, thinking, budget }: Read): Fields {
  const config = optional(body, 'output_config', objectAt) ?? {};
  const format = config['format'] ?? body['output_format'];
  const fields: Fields = {
    model: body['model'],
    max_tokens: maxTokens,
    temperature: optional(body, 'temperature', (value, at) => numberAt(value, at, [0, 1])),
    top_p: optional(body, 'top_p', (value, at) => numberAt(value, at, [0, 1])),
    stop: stops.length === 0 ? undefined : stops,
    reasoning_effort: effortOf(config, { thinking, budget }),
    response_format: format == null ? undefined : formatOf(format),
  };
  return presentFields(fields);
}

function formatOf(asked: unknown): Fields {
  const format = objectAt(asked, 'output_config.format', 'output_config');
  if (format['type'] !== 'json_schema')
    throw invalid('output_config.format.type must be json_schema', 'output_config');
  if (!isFields(format['schema']))
    throw invalid('output_config.format.schema must be an object', 'output_config');
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format['schema'], strict: true } };
}
