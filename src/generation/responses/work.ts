import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { isFields } from '../../providers/index.js';
import type { NativeEvents, Provider } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Searched } from '../dialects/searches.js';
import { Turn } from '../dialects/turn.js';
import type { NativeStreamRequest, NativeForm, NativeTarget, TurnRequest } from '../dialects/turn.js';
import type { HeldChat } from '../chat/admission.js';
import { DialectWork } from '../dialects/work.js';
import type { RequestedToolCall } from '../dialects/calls.js';
import { fieldsBut } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import { usesUpstreamBackground } from './background/upstream-answer.js';
import type { UpstreamAnswer } from './background/upstream-answer.js';
import { fillMedia, translate } from './input.js';
import type { InputItem, TranslateOptions, Translated } from './input.js';
import type { ResponseKeeper } from './kept.js';
import { TokenDetails } from './object.js';
import type { Identity } from './object.js';
import { itemId } from './request.js';
import type { ResponseRequest } from './request.js';
import type { Tools } from './tools.js';
import type { ResponseParts } from './responses.types.js';

/** A request that passed all checks. */
export interface Prepared {
  request: ResponseRequest;
  model: Model;
  tools: Tools;
  translated: Translated;
  translating: TranslateOptions;
}

/** Fields of the body that are never sent upstream unchanged. */
const OURS = new Set([
  'model',
  'input',
  'tools',
  'tool_choice',
  'max_output_tokens',
  'store',
  'previous_response_id',
  'background',
  'conversation',
  'stream',
  'include',
  'max_tool_calls',
]);

const ENCRYPTED = 'reasoning.encrypted_content';

/** The kind of a stored response, for a retry with its Idempotency-Key. */
export const keptAs = (body: Fields): unknown => ['response', body];

/** A response in progress. */
export class ResponseWork extends DialectWork<ResponseParts, Prepared> {
  /** The operation's id with the prefix of responses, so that queries can check whether a stored response is paid. */
  readonly id = `resp_${this.turn.chat.operationId.slice('op_'.length)}`;
  readonly details = new TokenDetails();
  /** Stores it while its caller waits; null if it is not stored, or if a worker stores it. */
  keeper: ResponseKeeper | null = null;
  /** In a worker: the answer that an upstream continues by itself. */
  upstreamAnswer: UpstreamAnswer | null = null;
  /** All items of its output, in order. */
  readonly items: Fields[] = [];
  /** Items that were added to the input for further rounds. */
  private readonly more: Fields[] = [];

  /** @throws ApiError in the order of decisions 1 */
  static admit(parts: ResponseParts, call: CallContext, prepared: Prepared): Promise<ResponseWork> {
    return ResponseWork.with(parts, prepared, (request) => Turn.admit(parts.engine, call, request));
  }

  /** Continues a response that was admitted before. @throws ApiError if that is no longer possible */
  static resume(parts: ResponseParts, held: HeldChat, prepared: Prepared): Promise<ResponseWork> {
    const { engine } = parts;
    return ResponseWork.with(parts, prepared, async (request) =>
      Turn.resume(engine, await engine.admission.resume(held, request.chat, request.texts), request),
    );
  }

  private static async with(
    parts: ResponseParts,
    prepared: Prepared,
    turnOf: (request: TurnRequest) => Promise<Turn>,
  ): Promise<ResponseWork> {
    const { request, tools, translated } = prepared;
    const chat = {
      ...request.chat,
      messages: translated.messages,
      ...(tools.chat === undefined ? {} : { tools: tools.chat }),
      ...(tools.chatChoice === undefined ? {} : { tool_choice: tools.chatChoice }),
    };
    if (tools.chat === undefined) delete (chat as Fields)['parallel_tool_calls'];
    let work: ResponseWork | null = null;
    const native: NativeForm = {
      dialect: 'responses',
      body: (target) => (work === null ? null : work.nativeBody(target)),
      isContentEvent: (type) =>
        !/^response\.(?:created|in_progress|queued)$/.test(type) && type.startsWith('response.'),
      follow: (events, asked) => work?.followed(events, asked) ?? events,
    };
    const turn = await turnOf({ chat, texts: translated.texts, native });
    work = new ResponseWork(parts, prepared, turn);
    fillMedia(translated, turn.chat.request.upstreamBody.messages);
    return work;
  }

  /** @param provider of the model that answers, if it has the dialect; else null */
  identity(model: Model, provider: Provider | null): Identity {
    const { request, tools } = this.prepared;
    const leftOut = provider === null ? tools.leftOut : tools.native(provider).leftOut;
    const { tier } = this.turn.chat.model;
    return { id: this.id, request, model, tier, leftOut };
  }

  override get keptAs(): unknown {
    return keptAs(this.prepared.request.body);
  }

  override addUsage(reported: unknown): void {
    this.details.add(reported);
  }

  override async forget(): Promise<void> {
    if (this.keeper?.forget() === true)
      await this.parts.store.forget(this.turn.call.principal.orgId, this.id);
  }

  /** Runs the searches of a round; each is an item of the answer. @param told `begun` is called before each search, `ended` after it */
  async runSearches(
    calls: readonly RequestedToolCall[],
    told: { begun(item: Fields, index: number): void; ended(item: Fields, index: number): void },
  ): Promise<Fields[]> {
    const outputs: Fields[] = [];
    const most = this.prepared.request.maxToolCalls ?? Number.POSITIVE_INFINITY;
    for (const call of calls) {
      const id = itemId('web_search_call');
      const asked = { id, type: 'web_search_call', status: 'in_progress', action: actionOf(call, null) };
      const index = this.items.push(asked) - 1;
      told.begun(asked, index);
      const searched =
        this.searches.asked < most
          ? await this.searches.run(call.arguments)
          : { query: '', results: [], text: 'No more searches are made for this answer.', failed: true };
      const item = {
        ...asked,
        status: searched.failed ? 'failed' : 'completed',
        action: actionOf(call, searched),
      };
      this.items[index] = item;
      told.ended(item, index);
      outputs.push({ type: 'function_call_output', call_id: call.id, output: searched.text });
    }
    return outputs;
  }

  /** Starts the next round with the items and results of the last one. @throws ApiError; the call is settled then */
  async nextRound(cost: Tokens, items: readonly Fields[]): Promise<void> {
    this.rounds++;
    this.more.push(...items);
    const inputs: InputItem[] = items.map((item) => ({ item, where: null }));
    const { messages, texts } = translate(inputs, { ...this.prepared.translating, instructions: null });
    const said = messages.map((message) => JSON.stringify(message));
    // The model has made the forced call, so the choice no longer applies.
    const fields = this.prepared.tools.chatChoice === undefined ? {} : { tool_choice: 'auto' };
    await this.turn.extend(cost, { messages, texts: [...texts, ...said], fields });
  }

  /** Whether the upstream continues the answer by itself. Only in the first round, because later rounds depend on the results of searches. */
  private isKeptByUpstream({ model, provider }: Omit<NativeTarget, 'maxTokens'>): boolean {
    return this.rounds === 1 && this.upstreamAnswer !== null && usesUpstreamBackground(model, provider);
  }

  private followed(events: NativeEvents, asked: NativeStreamRequest): NativeEvents {
    const { upstreamAnswer } = this;
    if (upstreamAnswer === null) return events;
    // An answer that was requested before is no longer needed.
    void upstreamAnswer.leave();
    return this.isKeptByUpstream(asked) ? upstreamAnswer.follow(events, asked) : events;
  }

  private nativeBody({ model, provider, maxTokens }: NativeTarget) {
    const { request, tools, translated } = this.prepared;
    const { body } = request;
    const passed = fieldsBut(body, OURS);
    const { fields } = tools.native(provider);
    if (this.more.length > 0 && fields.tool_choice !== undefined) fields.tool_choice = 'auto';
    const given = Array.isArray(body['include']) ? (body['include'] as string[]) : [];
    // The next turn must send the reasoning back, so the stored response needs its encrypted form.
    const include = given.includes(ENCRYPTED) || !request.store ? given : [...given, ENCRYPTED];
    return {
      body: {
        ...passed,
        ...fields,
        model: model.upstream?.modelId ?? model.name,
        input: [...translated.items, ...this.more.map(({ id: _, ...item }) => item)],
        max_output_tokens: maxTokens,
        ...(this.isKeptByUpstream({ model, provider })
          ? { store: true, background: true }
          : { store: false }),
        ...(include.length === 0 ? {} : { include }),
      },
      ...(include === given ? {} : { addedIncludes: [ENCRYPTED] }),
    };
  }
}

function actionOf({ arguments: said }: RequestedToolCall, searched: Searched | null): Fields {
  if (searched !== null && searched.query !== '')
    return {
      type: 'search',
      query: searched.query,
      queries: [searched.query],
      sources: searched.results.map(({ url }) => ({ type: 'url', url })),
    };
  let query: unknown = '';
  try {
    const parsed = JSON.parse(said) as unknown;
    query = isFields(parsed) ? parsed['query'] : '';
  } catch {
    // The search is shown without its query.
  }
  return { type: 'search', query: typeof query === 'string' ? query : '' };
}
