import type { Response, ResponseOutputItem, ResponseUsage } from 'openai/resources/responses/responses';
import type { Model } from '../../models/models.types.js';
import { timeOfId } from '../../contract/ids.js';
import { isFields, findTokenParts } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import { leftOutText } from '../dialects/left-out.js';
import type { Fields } from '../dialects/checks.js';
import type { ResponseRequest } from './request.js';

/** The convention's object for the caller: without fields that clients compute, with Penstock's additions. */
export type ResponseObject = Omit<Response, 'output_text' | 'access_programs'> & {
  store: boolean;
  /** Credits of the whole answer, including its searches; absent until it has ended. */
  credits_used?: number;
  model_tier?: string;
};

/** The data of a response that is known at its beginning. */
export interface Identity {
  id: string;
  request: ResponseRequest;
  /** The model that answers. */
  model: Model;
  /** The tier of the requested model, which determines the price. */
  tier: string;
  /** Types of the tools that were left out. */
  leftOut: readonly string[];
}

/** The fields that Penstock sets in every response, also in an upstream's own object. */
function ownFields({ id, request, model, tier, leftOut }: Identity) {
  const named = leftOutText(leftOut);
  return {
    id,
    object: 'response' as const,
    // Of its id, so that a process that takes the response over writes the same.
    created_at: Math.floor(timeOfId(id) / 1000),
    model: model.id,
    background: request.background,
    store: request.store,
    previous_response_id: request.previousId,
    metadata: { ...request.metadata, ...(named === null ? {} : { penstock_tools_left_out: named }) },
    model_tier: tier,
  };
}

/** The object of a response that has begun. */
export function begunResponse(identity: Identity): ResponseObject {
  const { body } = identity.request;
  const given = <T>(name: string, other: T): T => (body[name] ?? other) as T;
  const text = given<Fields>('text', {});
  const reasoning = given<Fields>('reasoning', {});
  return {
    ...ownFields(identity),
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: identity.request.instructions,
    max_output_tokens: given('max_output_tokens', null),
    max_tool_calls: given('max_tool_calls', null),
    output: [],
    parallel_tool_calls: given('parallel_tool_calls', true),
    prompt_cache_key: given('prompt_cache_key', null),
    reasoning: { effort: null, summary: null, ...reasoning } as ResponseObject['reasoning'] & object,
    safety_identifier: given('safety_identifier', null),
    service_tier: 'default',
    temperature: given('temperature', 1),
    text: { format: { type: 'text' }, ...text } as ResponseObject['text'] & object,
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', 1),
    truncation: identity.request.truncation,
    ...(body['user'] == null ? {} : { user: body['user'] as string }),
  };
}

const SAID = ['tools', 'tool_choice', 'max_output_tokens', 'instructions', 'truncation'];

/** The same, based on an upstream's own object. Its other fields stay unchanged, including fields that Penstock does not know. */
export function adoptedResponse(identity: Identity, given: Fields): ResponseObject {
  const { body } = identity.request;
  // The caller's own values: the upstream may have got different ones.
  const said: Fields = {};
  for (const name of SAID) if (body[name] != null) said[name] = body[name];
  return {
    ...begunResponse(identity),
    ...given,
    ...said,
    max_output_tokens: (body['max_output_tokens'] ?? null) as number | null,
    ...ownFields(identity),
  } as ResponseObject;
}

/** The status of a response at its end, and the reason if it is incomplete. */
export interface Ended {
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  reason?: 'max_output_tokens' | 'content_filter' | undefined;
}

/** The object of a response that has ended. */
export function endedResponse(
  begun: ResponseObject,
  {
    output,
    ended: { status, reason },
    usage,
    creditsUsed,
  }: { output: Fields[]; ended: Ended; usage: ResponseUsage; creditsUsed: number },
): ResponseObject {
  return {
    ...begun,
    status,
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    incomplete_details: reason === undefined ? null : { reason },
    output: output as unknown as ResponseOutputItem[],
    usage,
    credits_used: creditsUsed,
  };
}

/** The token details that upstreams reported, with the names of chat or of the dialect, summed over the rounds of an answer. */
export class TokenDetails {
  private cached = 0;
  private cacheWritten = 0;
  private reasoning = 0;
  /** Further fields of the maker, from the last round. */
  private others: Fields = {};

  add(reported: unknown): void {
    if (!isFields(reported)) return;
    const input = detailsIn(reported, 'input_tokens_details', 'prompt_tokens_details');
    const output = detailsIn(reported, 'output_tokens_details', 'completion_tokens_details');
    const { cachedInput, cacheWrite, reasoning } = findTokenParts(reported);
    this.cached += cachedInput ?? 0;
    this.cacheWritten += cacheWrite ?? 0;
    this.reasoning += reasoning ?? 0;
    if ('input_tokens' in reported) this.others = { reported, input, output };
  }

  usage({ prompt, completion, total }: Tokens): ResponseUsage {
    const { reported, input, output } = this.others as Partial<Record<string, Fields>>;
    const { prompt_tokens: _p, completion_tokens: _c, ...more } = reported ?? {};
    return {
      ...more,
      input_tokens: prompt,
      input_tokens_details: {
        ...input,
        cached_tokens: this.cached,
        cache_write_tokens: this.cacheWritten,
      },
      output_tokens: completion,
      output_tokens_details: { ...output, reasoning_tokens: this.reasoning },
      total_tokens: total,
    };
  }
}

function detailsIn(reported: Fields, ...names: string[]): Fields {
  for (const name of names) if (isFields(reported[name])) return reported[name];
  return {};
}
