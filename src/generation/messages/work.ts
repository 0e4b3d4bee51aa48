import type { Message, RawMessageDeltaEvent } from '@anthropic-ai/sdk/resources/messages';
import { ApiError } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { tokenRate } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import { fieldsBut } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import type { Searched } from '../dialects/searches.js';
import { Turn } from '../dialects/turn.js';
import type { NativeForm, NativeTarget } from '../dialects/turn.js';
import { DialectWork } from '../dialects/work.js';
import { inputOf } from './calls.js';
import type { RequestedToolCall } from '../dialects/calls.js';
import { fillMedia, OWN_SEARCH, OWN_SEARCH_ID } from './input.js';
import type { Translated } from './input.js';
import type { MessageParts } from './messages.types.js';
import type { MessageRequest } from './request.js';
import type { MessageTools } from './tools.js';
import { MessageUsage } from './usage.js';

/** A request that passed all checks. */
export interface Prepared {
  request: MessageRequest;
  model: Model;
  tools: MessageTools;
  translated: Translated;
}

/** Fields of the body that are never sent upstream unchanged. */
const OURS = new Set(
  'model messages tools tool_choice max_tokens stream betas thread mcp_servers container user_profile_id workspace_id'.split(
    ' ',
  ),
);

const VERSION = '2023-06-01';

/** The messages that a round passes to the next one. */
export interface Added {
  /** In the form of chat. */
  chat: Fields;
  /** Blocks for an upstream of the dialect. */
  native: Fields[];
}

/** The message for the caller, with Penstock's additions. */
export type OwnMessage = Message & { model_tier?: string };
type DeltaUsage = RawMessageDeltaEvent['usage'] & { credits_used?: number };

/** The kind of a stored message, for a retry with its Idempotency-Key. */
export const keptAs = (body: Fields): unknown => ['message', body];

/** A message in progress. */
export class MessageWork extends DialectWork<MessageParts, Prepared> {
  readonly id = newId('msg');
  readonly usage = new MessageUsage();
  /** All of its blocks, in order. */
  readonly content: Fields[] = [];
  /** Messages that were added for further rounds. */
  private readonly more: Fields[] = [];

  /** @throws ApiError in the order of decisions 1 */
  static async admit(parts: MessageParts, call: CallContext, prepared: Prepared): Promise<MessageWork> {
    const { request, translated } = prepared;
    let work: MessageWork | null = null;
    const native: NativeForm = {
      dialect: 'messages',
      body: (target) => (work === null ? null : work.nativeBody(target)),
      isContentEvent: (type) => /^(?:content_block_|message_delta|message_stop)/.test(type),
    };
    const { chat, texts } = chatOf(prepared);
    const turn = await Turn.admit(parts.engine, call, {
      chat,
      texts,
      optional: ['reasoning_effort'],
      native,
    });
    const { budget } = request;
    if (budget !== null && turn.chat.maxTokens <= budget && turn.chat.request.maxTokens > budget) {
      const { maxTokens } = turn.chat;
      throw await turn.fail(
        new ApiError(
          'quota_exceeded',
          `What is left covers an answer of ${maxTokens} tokens, and thinking.budget_tokens are ${budget}`,
        ),
      );
    }
    work = new MessageWork(parts, prepared, turn);
    fillMedia(translated, turn.chat.request.upstreamBody.messages);
    return work;
  }

  override get keptAs(): unknown {
    return keptAs(this.prepared.request.body);
  }

  override addUsage(reported: unknown): void {
    this.usage.add(reported);
  }

  /** The message at its beginning. @param given the upstream's own fields, if it has the dialect */
  begun(model: Model, given: Fields): OwnMessage {
    const tokens = { prompt: this.turn.chat.promptTokens, completion: 0, total: 0 };
    return {
      container: null,
      diagnostics: null,
      stop_details: null,
      ...given,
      ...this.own(model),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...new MessageUsage().of(tokens), ...(given['usage'] as object | undefined) },
    };
  }

  /** The whole message. */
  ended(model: Model, { ending, tokens }: { ending: Fields; tokens: Tokens }): OwnMessage {
    return {
      container: null,
      diagnostics: null,
      stop_details: null,
      stop_reason: null,
      stop_sequence: null,
      ...ending,
      ...this.own(model),
      content: this.content as never,
      usage: this.usageOf(tokens) as never,
    };
  }

  /** The usage of all rounds in the form of the message. */
  usageOf(tokens: Tokens): DeltaUsage {
    const { metering } = this.parts.engine.options;
    const { credits = 0 } = metering.tokenAmounts(tokens.total, tokenRate(this.turn.chat.model));
    return {
      ...this.usage.of(tokens, this.searches.asked),
      credits_used: (credits + this.searches.charged) / 100,
    };
  }

  private own(model: Model) {
    return {
      id: this.id,
      type: 'message' as const,
      role: 'assistant' as const,
      model: model.id,
      model_tier: this.turn.chat.model.tier,
    };
  }

  /** Runs the searches of a round; each is two blocks of the answer. @param told called with each block */
  async runSearches(
    calls: readonly RequestedToolCall[],
    told: (block: Fields, index: number) => void,
  ): Promise<Fields[]> {
    const results: Fields[] = [];
    for (const call of calls) {
      const id = newId(OWN_SEARCH_ID).replace('pst_', 'pst');
      const caller = { type: 'direct' };
      const asked = {
        type: 'server_tool_use',
        id,
        name: 'web_search',
        input: inputOf(call.arguments),
        caller,
      };
      told(asked, this.content.push(asked) - 1);
      const searched = await this.searches.run(call.arguments);
      const found = { type: 'web_search_tool_result', tool_use_id: id, content: foundOf(searched), caller };
      told(found, this.content.push(found) - 1);
      results.push({ type: 'tool_result', tool_use_id: call.id, content: searched.text });
    }
    return results;
  }

  /** Starts the next round with the results of a round's calls. @throws ApiError; the call is settled then */
  async nextRound(cost: Tokens, { chat, native }: Added, results: readonly Fields[]): Promise<void> {
    this.rounds++;
    this.more.push({ role: 'assistant', content: native }, { role: 'user', content: results });
    const answers = results.map((result) => ({
      role: 'tool',
      tool_call_id: result['tool_use_id'],
      content: result['content'],
    }));
    const messages = [chat, ...answers];
    // The model has made the forced call, so the choice no longer applies.
    const fields = this.prepared.tools.chatChoice === undefined ? {} : { tool_choice: 'auto' };
    await this.turn.extend(cost, { messages, texts: messages.map((one) => JSON.stringify(one)), fields });
  }

  private nativeBody({ model, provider, maxTokens }: NativeTarget) {
    const { request, tools, translated } = this.prepared;
    const passed = fieldsBut(request.body, OURS);
    const { fields } = tools.native(provider);
    if (this.more.length > 0 && fields['tool_choice'] !== undefined)
      fields['tool_choice'] = {
        type: 'auto',
        ...(tools.parallel ? {} : { disable_parallel_tool_use: true }),
      };
    const { betas } = request;
    return {
      body: {
        ...passed,
        ...fields,
        model: model.upstream?.modelId ?? model.name,
        messages: [...translated.native, ...this.more],
        max_tokens: maxTokens,
      },
      headers: {
        'anthropic-version': VERSION,
        ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
      },
    };
  }
}

/** The request in the form of chat, and the texts that a chat cannot express. */
export function chatOf({ request, tools, translated }: Omit<Prepared, 'model'>): {
  chat: Fields;
  texts: readonly string[];
} {
  const chat = {
    ...request.chat,
    messages: translated.messages,
    ...(tools.chat === undefined ? {} : { tools: tools.chat }),
    ...(tools.chatChoice === undefined ? {} : { tool_choice: tools.chatChoice }),
    ...(tools.chat === undefined || tools.parallel ? {} : { parallel_tool_calls: false }),
  };
  return { chat, texts: translated.texts };
}

function foundOf({ results, failed }: Searched): unknown {
  if (failed) return { type: 'web_search_tool_result_error', error_code: 'unavailable' };
  return results.map(({ title, url }) => ({
    type: 'web_search_result',
    title,
    url,
    page_age: null,
    encrypted_content: OWN_SEARCH,
  }));
}
