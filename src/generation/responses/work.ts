import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { isFields } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Searched } from '../dialects/searches.js';
import { Turn } from '../dialects/turn.js';
import type { NativeForm, NativeTarget, TurnRequest } from '../dialects/turn.js';
import type { HeldChat } from '../chat/admission.js';
import { DialectWork } from '../dialects/work.js';
import type { AskedCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import { fillMedia, translate } from './input.js';
import type { InputItem, TranslateOptions, Translated } from './input.js';
import { TokenDetails } from './object.js';
import type { Identity } from './object.js';
import { itemId } from './request.js';
import type { ResponseRequest } from './request.js';
import type { Tools } from './tools.js';
import type { ResponseParts } from './responses.types.js';

/** A request that may go to an upstream. */
export interface Prepared {
  request: ResponseRequest;
  model: Model;
  tools: Tools;
  translated: Translated;
  translating: TranslateOptions;
}

/** What a body of the dialect has that is never its upstream's. */
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

/** What a response is kept as for a retry with its Idempotency-Key. */
export const keptAs = (body: Fields): unknown => ['response', body];

/** One response at work. */
export class ResponseWork extends DialectWork<ResponseParts, Prepared> {
  /** Its operation's, under its own prefix: what is stored is found to be paid for by it. */
  readonly id = `resp_${this.turn.chat.operationId.slice('op_'.length)}`;
  readonly createdAt = Math.floor(Date.now() / 1000);
  readonly details = new TokenDetails();
  /** All of its items, in order. */
  readonly items: Fields[] = [];
  /** Items that further rounds got beside the input. */
  private readonly more: Fields[] = [];

  /** @throws ApiError in the order of decisions 1 */
  static admit(parts: ResponseParts, call: CallContext, prepared: Prepared): Promise<ResponseWork> {
    return ResponseWork.with(parts, prepared, (request) => Turn.admit(parts.engine, call, request));
  }

  /** One that was admitted before. @throws ApiError where it cannot be done any more */
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
      brings: (type) =>
        !/^response\.(?:created|in_progress|queued)$/.test(type) && type.startsWith('response.'),
    };
    const turn = await turnOf({ chat, texts: translated.texts, native });
    work = new ResponseWork(parts, prepared, turn);
    fillMedia(translated, turn.chat.request.upstreamBody.messages);
    return work;
  }

  /** @param provider of the model that answers, where it speaks the dialect itself */
  identity(model: Model, provider: Provider | null): Identity {
    const { request, tools } = this.prepared;
    const leftOut = provider === null ? tools.leftOut : tools.native(provider).leftOut;
    const { tier } = this.turn.chat.model;
    return { id: this.id, request, model, tier, createdAt: this.createdAt, leftOut };
  }

  override get keptAs(): unknown {
    return keptAs(this.prepared.request.body);
  }

  override addUsage(reported: unknown): void {
    this.details.add(reported);
  }

  override forget(): Promise<void> {
    return this.parts.store.forget(this.turn.call.principal.orgId, this.id);
  }

  /** Runs the searches of a round; each is an item of the answer. @param begun told of each before it runs */
  async runSearches(
    calls: readonly AskedCall[],
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

  /** Goes on after a round with what it asked for. @throws ApiError; the call is settled then */
  async nextRound(cost: Tokens, items: readonly Fields[]): Promise<void> {
    this.rounds++;
    this.more.push(...items);
    const inputs: InputItem[] = items.map((item) => ({ item, where: null }));
    const { messages, texts } = translate(inputs, { ...this.prepared.translating, instructions: null });
    const said = messages.map((message) => JSON.stringify(message));
    // A choice that forced a call has been followed.
    const fields = this.prepared.tools.chatChoice === undefined ? {} : { tool_choice: 'auto' };
    await this.turn.extend(cost, { messages, texts: [...texts, ...said], fields });
  }

  private nativeBody({ model, provider, maxTokens }: NativeTarget) {
    const { request, tools, translated } = this.prepared;
    const { body } = request;
    const passed = Object.fromEntries(Object.entries(body).filter(([name]) => !OURS.has(name)));
    const { fields } = tools.native(provider);
    if (this.more.length > 0 && fields.tool_choice !== undefined) fields.tool_choice = 'auto';
    const given = Array.isArray(body['include']) ? (body['include'] as string[]) : [];
    // What it thought must come back with the next turn, whoever keeps it meanwhile.
    const include = given.includes(ENCRYPTED) || !request.store ? given : [...given, ENCRYPTED];
    return {
      body: {
        ...passed,
        ...fields,
        model: model.upstream?.modelId ?? model.name,
        input: [...translated.items, ...this.more.map(({ id: _, ...item }) => item)],
        max_output_tokens: maxTokens,
        store: false,
        ...(include.length === 0 ? {} : { include }),
      },
      ...(include === given ? {} : { addedIncludes: [ENCRYPTED] }),
    };
  }
}

function actionOf({ arguments: said }: AskedCall, searched: Searched | null): Fields {
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
    // Shown without one.
  }
  return { type: 'search', query: typeof query === 'string' ? query : '' };
}
