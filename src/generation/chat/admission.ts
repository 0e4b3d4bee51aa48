import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Metering, TokenPrice } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { Search } from '../../search/index.js';
import { admitCall } from '../pipeline/call-admission.js';
import { createImageReader } from './images.js';
import type { ImageOptions, ImageReader } from './images.js';
import { readChatRequest } from './request.js';
import type { ChatRequest } from './request.js';
import { countPrompt, outputBound } from './tokens.js';
import { tokenRate } from './usage.js';
import { withWebSearch } from './web-search.js';
import { modelFor } from '../pipeline/checks.js';

export interface ChatAdmissionOptions extends ImageOptions {
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
  /** Addresses that a web search gave. */
  citations: string[];
}

export interface ChatAdmission {
  /** Nearly always at once: each wait costs a turn of the queue. @throws ApiError of step 5 or 6 */
  check(call: CallContext, body: Record<string, unknown>): CheckedChat | Promise<CheckedChat>;
  /** @throws ApiError in the order of decisions 1 */
  admit(call: CallContext, body: Record<string, unknown>): Promise<AdmittedChat>;
}

function priceOf({ model, promptTokens, maxTokens }: CheckedChat): TokenPrice {
  return { promptTokens, maxTokens, multiplier: tokenRate(model) };
}

/** @throws ApiError invalid_request where the prompt is longer than the model's window */
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

/** Takes chat calls from their body to a reservation. */
export function createChatAdmission(options: ChatAdmissionOptions): ChatAdmission {
  const { models, metering, tokenizer, search } = options;

  const check = (call: CallContext, body: Record<string, unknown>): CheckedChat | Promise<CheckedChat> => {
    const model = modelFor(body, { models, plan: call.principal.plan, type: 'chat' });
    const reader = createImageReader(call.principal.orgId, body['messages'], options);
    const read = (readImage: ImageReader) => measured(readChatRequest(body, readImage), model, tokenizer);
    return reader instanceof Promise ? reader.then(read) : read(reader);
  };

  const reserve = (call: CallContext, checked: CheckedChat, windows: boolean): Promise<AdmittedChat> => {
    const operationId = newId('op');
    const operation = {
      id: operationId,
      kind: 'chat' as const,
      price: priceOf(checked),
      model: checked.model.id,
    };
    return admitCall(metering, call, windows ? { endpoint: 'chat', operation } : { operation }).then(
      (reservation) => {
        const covered = reservation?.coveredTokens ?? checked.promptTokens + checked.maxTokens;
        return {
          request: checked.request,
          model: checked.model,
          promptTokens: checked.promptTokens,
          maxTokens: Math.max(1, Math.min(checked.maxTokens, covered - checked.promptTokens)),
          call,
          operationId,
          citations: [],
        };
      },
    );
  };

  /** 429 comes before 403 and 400: the slots are taken, then the fault is told. */
  const refuse = async (call: CallContext, fault: unknown): Promise<never> => {
    await admitCall(metering, call, { endpoint: 'chat' });
    throw fault;
  };

  const searched = async (call: CallContext, { request, model }: CheckedChat): Promise<AdmittedChat> => {
    await admitCall(metering, call, { endpoint: 'chat' });
    // With an Idempotency-Key the call finishes without its caller, its search too.
    const signal = call.idempotencyKey === null ? call.signal : undefined;
    const found = await withWebSearch(request, search, signal);
    const admitted = await reserve(call, await measured(found.request, model, tokenizer), false);
    return { ...admitted, citations: found.citations };
  };

  return {
    check,
    admit(call, body) {
      const admitted = (checked: CheckedChat): Promise<AdmittedChat> =>
        checked.request.webSearch ? searched(call, checked) : reserve(call, checked, true);
      let found: CheckedChat | Promise<CheckedChat>;
      try {
        found = check(call, body);
      } catch (fault) {
        return refuse(call, fault);
      }
      return found instanceof Promise
        ? found.then(admitted, (fault: unknown) => refuse(call, fault))
        : admitted(found);
    },
  };
}
