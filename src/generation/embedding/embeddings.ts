import type { EmbeddingModelV4Result, JSONArray, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { endianness } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Metering, Settlement } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { abortedError, tokenCount, UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { admitCall } from '../pipeline/call-admission.js';
import { answerOfFault } from '../chat/settlement.js';
import { tokenRate } from '../chat/usage.js';
import { countEmbeddingTokens, readEmbeddingRequest } from './embedding-request.js';
import type { EmbeddingRequest } from './embedding-request.js';
import { decodeTokenIds } from './token-ids.js';
import type { EmbeddingService } from '../generation.types.js';
import { modelFor } from '../pipeline/checks.js';
import { createUpstreams } from '../pipeline/upstreams.js';

export interface EmbeddingOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  metering: Metering;
  tokenizer: Tokenizer;
  logger: Logger;
}

interface Checked {
  model: Model;
  request: EmbeddingRequest;
  tokens: number;
}

/** Little-endian float32, as the convention's clients decode it, and every machine that Node runs on keeps it but one. */
function toBase64(vector: number[]): string {
  const bytes = Buffer.from(Float32Array.from(vector).buffer);
  return (endianness() === 'LE' ? bytes : bytes.swap32()).toString('base64');
}

/** Token ids are passed on if the upstream accepts them (beyond 11.4), else converted to text. */
async function inputsFor(
  { takesTokenIds }: Provider,
  { texts, tokenIds, extras }: EmbeddingRequest,
): Promise<{ values: string[]; options: SharedV4ProviderOptions[string] }> {
  if (tokenIds === null) return { values: texts, options: extras };
  if (takesTokenIds !== true) return { values: await decodeTokenIds(tokenIds.lists), options: extras };
  const values = tokenIds.lists.map(() => '');
  return { values, options: { ...extras, input: tokenIds.given as JSONArray } };
}

async function embed(
  provider: Provider,
  target: Model,
  work: { request: EmbeddingRequest; signal: AbortSignal },
): Promise<EmbeddingModelV4Result> {
  const model = provider.embedding?.(target.upstream?.modelId ?? target.name);
  if (!model) throw new UpstreamError('No embeddings at this provider', { status: null, retryable: false });
  try {
    const { values, options } = await inputsFor(provider, work.request);
    return await model.doEmbed({ values, abortSignal: work.signal, providerOptions: { penstock: options } });
  } catch (error) {
    throw work.signal.aborted && !(error instanceof UpstreamError) ? abortedError() : error;
  }
}

/** Vectors that are written in one turn of the event loop (a few milliseconds). */
const VECTORS = 32;

/** The answer's `data`. */
async function dataOf(embeddings: number[][], base64: boolean): Promise<Record<string, unknown>[]> {
  const data: Record<string, unknown>[] = [];
  for (const [index, vector] of embeddings.entries()) {
    data.push({ object: 'embedding', index, embedding: base64 ? toBase64(vector) : vector });
    if (base64 && index % VECTORS === VECTORS - 1) await turn();
  }
  return data;
}

/** The answer before it is charged. */
interface MadeEmbeddings extends Record<string, unknown> {
  usage: { prompt_tokens: number; total_tokens: number };
}

const inputOf = (body: Record<string, unknown>): unknown => ['embeddings', body];

function priced(made: MadeEmbeddings, { charged }: Settlement): Record<string, unknown> {
  return { ...made, usage: { ...made.usage, credits_used: (charged.credits ?? 0) / 100 } };
}

/** The answer for which an earlier request with the call's Idempotency-Key was charged before its process died. */
async function chargedBefore(
  metering: Metering,
  { madeAnswers }: CallContext,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  const earlier = await madeAnswers?.take(inputOf(body));
  if (!earlier) return null;
  const settlement = await metering.settledBefore(earlier.operationId);
  return settlement && priced(earlier.value as MadeEmbeddings, settlement);
}

async function check(
  options: EmbeddingOptions,
  call: CallContext,
  body: Record<string, unknown>,
): Promise<Checked> {
  const model = modelFor(body, { models: options.models, plan: call.principal.plan, type: 'embedding' });
  const request = readEmbeddingRequest(body);
  return { model, request, tokens: await countEmbeddingTokens(request, model, options.tokenizer) };
}

async function admit(
  options: EmbeddingOptions,
  call: CallContext,
  body: Record<string, unknown>,
): Promise<Checked & { operationId: string }> {
  let checked: Checked;
  try {
    checked = await check(options, call, body);
  } catch (fault) {
    // 429 comes before 403 and 400: the slot is taken first, then the error is thrown.
    await admitCall(options.metering, call, {});
    throw fault;
  }
  const operationId = newId('op');
  const price = { promptTokens: checked.tokens, maxTokens: 0, multiplier: tokenRate(checked.model) };
  await admitCall(options.metering, call, {
    operation: { id: operationId, kind: 'embedding', price, model: checked.model.id },
  });
  return { ...checked, operationId };
}

/** Embeddings (decisions 6): charged as chat is, not a job. */
export function createEmbeddingService(options: EmbeddingOptions): EmbeddingService {
  const { metering, logger } = options;
  const upstreams = createUpstreams(options);
  const never = new AbortController().signal;
  return {
    async create(call, body) {
      const before = await chargedBefore(metering, call, body);
      if (before) return before;
      const { request, model: asked, tokens: counted, operationId } = await admit(options, call, body);
      const signal = call.idempotencyKey === null ? call.signal : never;
      const { value, model } = await upstreams
        .ask(asked, signal, (provider, target) => embed(provider, target, { request, signal }))
        .catch(async (error: unknown) => {
          await metering.release(operationId);
          if (!(error instanceof UpstreamError)) logger.error({ err: error }, 'embeddings failed');
          throw answerOfFault(error);
        });
      // A count of zero, or a fraction, is ignored.
      const tokens = tokenCount(value.usage?.tokens) || counted;
      const amounts = metering.tokenAmounts(tokens, tokenRate(asked));
      const made: MadeEmbeddings = {
        object: 'list',
        data: await dataOf(value.embeddings, request.base64),
        model: model.id,
        model_tier: asked.tier,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      };
      await call.madeAnswers
        ?.keep(inputOf(body), { operationId, value: made })
        .catch(async (lost: unknown) => {
          await metering.release(operationId);
          throw lost;
        });
      return priced(made, await metering.settleUnseen(operationId, amounts));
    },
    async estimate(call, body) {
      const { model, tokens } = await check(options, call, body);
      return {
        model: model.id,
        modelTier: model.tier,
        amounts: metering.tokenAmounts(tokens, tokenRate(model)),
      };
    },
  };
}
