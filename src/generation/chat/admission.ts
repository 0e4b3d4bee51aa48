import { invalid } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { attributionOf, isBoundInUsd, OperationTally } from '../../metering/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Metering, TokenPrice } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { Search } from '../../search/index.js';
import { admitCall } from '../pipeline/call-admission.js';
import { costBound } from '../pipeline/cost-bound.js';
import type { InputFetcher } from '../../files/files.types.js';
import { FurtherParts, fillFiles } from './documents.js';
import type { DocumentReader } from './documents.js';
import { createImageReader } from './images.js';
import type { ImageOptions, ImageReader } from './images.js';
import { readChatRequest } from './request.js';
import type { ChatRequest } from './request.js';
import { countPrompt, outputBound } from './tokens.js';
import { tokenRate } from './usage.js';
import { withWebSearch } from './web-search.js';
import { isCallable, modelFor } from '../pipeline/checks.js';

export interface ChatAdmissionOptions extends ImageOptions {
  inputs: Pick<InputFetcher, 'fetch' | 'checkForm' | 'checkInput'>;
  documents: DocumentReader;
  models: ModelCatalogue;
  metering: Metering;
  tokenizer: Tokenizer;
  search: Search;
}

/** A request that passed the checks without effect (steps 5 and 6 of decisions 1). */
export interface CheckedChat {
  request: ChatRequest;
  model: Model;
  promptTokens: number;
  /** Tokens to reserve for the answer. */
  maxTokens: number;
}

/** A chat call whose price is reserved. */
export interface AdmittedChat extends CheckedChat {
  call: CallContext;
  operationId: string;
  /** Addresses that a web search found. */
  citations: string[];
  /** The outcome that its usage record will get. */
  tally: OperationTally;
}

/** The part of an admitted call that is stored, so that another process can continue it. */
export type HeldChat = Pick<AdmittedChat, 'call' | 'operationId' | 'promptTokens' | 'maxTokens' | 'tally'>;

export interface ChatAdmission {
  /** Synchronous in nearly all cases, because each `await` costs a microtask. @throws ApiError of step 5 or 6 */
  check(
    call: CallContext,
    body: Record<string, unknown>,
    more?: readonly string[],
  ): CheckedChat | Promise<CheckedChat>;
  /** Counts the tokens of a prompt of any length. Files that must be downloaded are not counted. @throws ApiError of step 5 or 6 */
  count(call: CallContext, body: Record<string, unknown>, more?: readonly string[]): Promise<number>;
  /**
   * @param more further texts that count as part of the prompt: parts of another convention that a chat cannot express
   * @throws ApiError in the order of decisions 1
   */
  admit(call: CallContext, body: Record<string, unknown>, more?: readonly string[]): Promise<AdmittedChat>;
  /** Reads the request of a call that was admitted before; reserves nothing. @throws ApiError of step 5 or 6 */
  resume(held: HeldChat, body: Record<string, unknown>, more?: readonly string[]): Promise<AdmittedChat>;
  /**
   * A further round of an admitted call, with more messages: reserves its tokens in addition to the call's own, until the call is settled.
   * @returns the continued call, and the id of the reservation to release
   * @throws ApiError quota_exceeded, invalid_request (the prompt no longer fits the model's window)
   */
  extend(chat: AdmittedChat, added: Added): Promise<{ chat: AdmittedChat; heldAs: string }>;
  /**
   * Takes the slots of a call that is refused for another reason, because 429 comes before 403 and 400. @throws ApiError the given error, or
   * rate_limited
   */
  refuse(call: CallContext, fault: unknown): Promise<never>;
}

/** The additions of a further round to the round before. */
export interface Added {
  messages: Record<string, unknown>[];
  texts: string[];
  /** Fields with other values in this round. */
  fields?: Record<string, unknown>;
}

function priceOf({ model, promptTokens, maxTokens }: CheckedChat): TokenPrice {
  return { promptTokens, maxTokens, multiplier: tokenRate(model) };
}

/** @throws ApiError invalid_request if the prompt is longer than the model's window */
function measured(
  request: ChatRequest,
  model: Model,
  tokenizer: Tokenizer,
): CheckedChat | Promise<CheckedChat> {
  const checked = (promptTokens: number): CheckedChat => {
    const maxTokens = outputBound(model, { promptTokens, maxTokens: request.maxTokens });
    return { request, model, promptTokens, maxTokens };
  };
  const counted = countPrompt(request, model, tokenizer);
  return typeof counted === 'number' ? checked(counted) : counted.then(checked);
}

/**
 * At /v1 a parameter that the convention has and the model does not support is an error; it is not silently ignored (beyond 11.4). @throws
 * ApiError
 */
function refuseUndoable(
  { modalities, audio, web_search_options: search }: Record<string, unknown>,
  { id, upstream }: Model,
): void {
  const allows = (name: string): boolean => upstream?.allowedParameters.includes(name) === true;
  const isSpoken = Array.isArray(modalities) && modalities.some((kind) => kind !== 'text');
  if (isSpoken && !allows('modalities'))
    throw invalid(`modalities: ${id} answers in text only`, 'modalities');
  if (audio != null && !allows('audio')) throw invalid(`audio: ${id} answers in text only`, 'audio');
  if (search != null && !allows('web_search_options'))
    throw invalid('web_search_options is not supported: web_search is', 'web_search_options');
}

/** The default of `max_tokens`: the contract's (4.1), at /v1 the model's own maximum (beyond 11.6). */
function defaultTokensOf({ dialect }: CallContext, { maxOutputTokens }: Model): number {
  return dialect === undefined ? CONTRACT_TOKENS : (maxOutputTokens ?? LARGE_TOKENS);
}

const CONTRACT_TOKENS = 2048;
const LARGE_TOKENS = 32_000;

const needsFetching = ({ request }: CheckedChat): boolean => request.webSearch || request.files.length > 0;

type Body = Record<string, unknown>;

function checkChat(
  options: ChatAdmissionOptions,
  { call, body, more }: { call: CallContext; body: Body; more: readonly string[] },
): CheckedChat | Promise<CheckedChat> {
  const { models, tokenizer } = options;
  const model = modelFor(body, { models, caller: call.principal, type: 'chat' });
  if (call.dialect !== undefined) refuseUndoable(body, model);
  const defaultTokens = defaultTokensOf(call, model);
  const further = FurtherParts.of(call, model);
  const attribution = attributionOf(call, body);
  const read = (readImage: ImageReader) => {
    const request = readChatRequest(body, { readImage, further, defaultTokens, attribution });
    if (more.length > 0) request.texts.push(...more);
    return measured(request, model, tokenizer);
  };
  const reader = createImageReader(call.principal.orgId, body['messages'], options);
  return reader instanceof Promise ? reader.then(read) : read(reader);
}

async function countTokens(
  options: ChatAdmissionOptions,
  { call, body, more }: { call: CallContext; body: Body; more: readonly string[] },
): Promise<number> {
  const { models, tokenizer } = options;
  const model = modelFor(body, { models, caller: call.principal, type: 'chat' });
  const readImage = await createImageReader(call.principal.orgId, body['messages'], options);
  const further = FurtherParts.of(call, model);
  const request = readChatRequest(body, {
    readImage,
    further,
    defaultTokens: 1,
    attribution: attributionOf(call, body),
  });
  request.texts.push(...more);
  return await countPrompt(request, { ...model, contextWindow: null }, tokenizer);
}

async function withFiles(
  options: ChatAdmissionOptions,
  call: CallContext,
  checked: CheckedChat,
): Promise<CheckedChat> {
  const { request, model } = checked;
  if (request.files.length === 0) return checked;
  const texts = await fillFiles(request.files, { call, model }, options);
  const filled = { ...request, texts: [...request.texts, ...texts], files: [] };
  return await measured(filled, model, options.tokenizer);
}

/** Admits chat calls: from the body to the reservation. */
export function createChatAdmission(options: ChatAdmissionOptions): ChatAdmission {
  return new Admissions(options);
}

class Admissions implements ChatAdmission {
  constructor(private readonly options: ChatAdmissionOptions) {}

  check(
    call: CallContext,
    body: Record<string, unknown>,
    more: readonly string[] = [],
  ): CheckedChat | Promise<CheckedChat> {
    return checkChat(this.options, { call, body, more });
  }

  count(call: CallContext, body: Record<string, unknown>, more: readonly string[] = []): Promise<number> {
    return countTokens(this.options, { call, body, more });
  }

  admit(call: CallContext, body: Record<string, unknown>, more?: readonly string[]): Promise<AdmittedChat> {
    const admitted = (checked: CheckedChat): Promise<AdmittedChat> =>
      needsFetching(checked) ? this.fetched(call, checked) : this.reserve(call, checked, { windows: true });
    let found: CheckedChat | Promise<CheckedChat>;
    try {
      found = this.check(call, body, more);
    } catch (fault) {
      return this.refuse(call, fault);
    }
    return found instanceof Promise
      ? found.then(admitted, (fault: unknown) => this.refuse(call, fault))
      : admitted(found);
  }

  async resume(held: HeldChat, body: Body, more: readonly string[] = []): Promise<AdmittedChat> {
    const { call } = held;
    const attribution = attributionOf(call, body);
    const price = { promptTokens: held.promptTokens, maxTokens: held.maxTokens, multiplier: 0 };
    const operation = { id: held.operationId, kind: 'chat' as const, price, model: null };
    held.tally.pricedOnly = () => isBoundInUsd({ principal: call.principal, operation, attribution });
    held.tally.mayUseFallback = (model) => isCallable(call.principal, model);
    const { request, model } = await withFiles(this.options, call, await this.check(call, body, more));
    if (!request.webSearch) return { ...held, request, model, citations: [] };
    const found = await withWebSearch(request, this.options.search, call.signal);
    return { ...held, request: found.request, model, citations: found.citations };
  }

  async extend(
    chat: AdmittedChat,
    { messages, texts, fields = {} }: Added,
  ): Promise<{ chat: AdmittedChat; heldAs: string }> {
    const { request, model, call } = chat;
    const longer = {
      ...request,
      upstreamBody: {
        ...request.upstreamBody,
        ...fields,
        messages: [...request.upstreamBody.messages, ...messages],
      },
      texts: [...request.texts, ...texts],
    };
    const checked = await measured(longer, model, this.options.tokenizer);
    const held = await this.reserve(call, checked, { kind: 'hold' });
    const { operationId, tally } = chat;
    return { chat: { ...chat, ...held, operationId, tally }, heldAs: held.operationId };
  }

  async refuse(call: CallContext, fault: unknown): Promise<never> {
    await admitCall(this.options.metering, call, { endpoint: 'chat' });
    throw fault;
  }

  private reserve(
    call: CallContext,
    checked: CheckedChat,
    { kind = 'chat', windows = false }: { kind?: 'chat' | 'hold'; windows?: boolean } = {},
  ): Promise<AdmittedChat> {
    const operationId = newId('op');
    const operation = {
      id: operationId,
      kind,
      price: priceOf(checked),
      model: checked.model.id,
      costBound: () =>
        costBound({ models: this.options.models, caller: call.principal }, checked.model, checked),
    };
    const { attribution } = checked.request;
    return admitCall(
      this.options.metering,
      call,
      windows ? { endpoint: 'chat', operation, attribution } : { operation, attribution },
    ).then((reservation) => {
      const tally = new OperationTally();
      tally.pricedOnly = () => isBoundInUsd({ principal: call.principal, operation, attribution });
      tally.mayUseFallback = (model) => isCallable(call.principal, model);
      const covered = reservation?.coveredTokens ?? checked.promptTokens + checked.maxTokens;
      return {
        request: checked.request,
        model: checked.model,
        promptTokens: checked.promptTokens,
        maxTokens: Math.max(1, Math.min(checked.maxTokens, covered - checked.promptTokens)),
        call,
        operationId,
        citations: [],
        tally,
      };
    });
  }

  /** Downloads files of the prompt: after the windows' slots are taken, before the reservation. */
  private async fetched(call: CallContext, checked: CheckedChat): Promise<AdmittedChat> {
    const { metering, search, tokenizer } = this.options;
    await admitCall(metering, call, { endpoint: 'chat' });
    const filled = await withFiles(this.options, call, checked);
    if (!filled.request.webSearch) return this.reserve(call, filled);
    const { request, model } = filled;
    // A call with an Idempotency-Key finishes without its caller, including its search.
    const signal = call.idempotencyKey === null ? call.signal : undefined;
    const found = await withWebSearch(request, search, signal);
    const admitted = await this.reserve(call, await measured(found.request, model, tokenizer));
    return { ...admitted, citations: found.citations };
  }
}
