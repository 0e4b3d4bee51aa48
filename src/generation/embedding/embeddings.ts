import type { EmbeddingModelV4Result, JSONArray, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { endianness } from 'node:os';
import { nextSlice } from '../../collections/time-slicer.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { abortedError, tokenClasses, tokenCount, UpstreamError } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { createDirectCall } from '../pipeline/direct-call.js';
import type { DirectCallOptions } from '../pipeline/direct-call.js';
import { tokenRate } from '../chat/usage.js';
import { countEmbeddingTokens, readEmbeddingRequest } from './embedding-request.js';
import type { EmbeddingRequest } from './embedding-request.js';
import { decodeTokenIds } from './token-ids.js';
import type { EmbeddingService } from '../generation.types.js';
import { modelFor } from '../pipeline/checks.js';

export interface EmbeddingOptions extends DirectCallOptions {
  tokenizer: Tokenizer;
}

interface Checked {
  model: Model;
  request: EmbeddingRequest;
  tokens: number;
}

/** Little-endian float32, as the convention's clients decode it. All machines that run Node store it so, except one architecture. */
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
    if (base64 && index % VECTORS === VECTORS - 1) await nextSlice();
  }
  return data;
}

async function check(
  options: EmbeddingOptions,
  call: CallContext,
  body: Record<string, unknown>,
): Promise<Checked> {
  const model = modelFor(body, { models: options.models, caller: call.principal, type: 'embedding' });
  const request = readEmbeddingRequest(body);
  return { model, request, tokens: await countEmbeddingTokens(request, model, options.tokenizer) };
}

/** Embeddings (decisions 6): charged like chat; they are not jobs. */
export function createEmbeddingService(options: EmbeddingOptions): EmbeddingService {
  const { metering } = options;
  return {
    create: createDirectCall<Checked, EmbeddingModelV4Result>(options, {
      name: 'embeddings',
      kind: 'embedding',
      check: (call, body) => check(options, call, body),
      price: ({ tokens, model }) => ({ promptTokens: tokens, maxTokens: 0, multiplier: tokenRate(model) }),
      mostUsed: ({ tokens }) => ({ promptTokens: tokens, maxTokens: 0 }),
      ask: (provider, target, { checked: { request }, signal }) =>
        embed(provider, target, { request, signal }),
      async made(value, { checked: { request, model, tokens: counted }, answered }) {
        // A count of zero, or a fraction, is ignored.
        const tokens = tokenCount(value.usage?.tokens) || counted;
        const answer = {
          object: 'list',
          data: await dataOf(value.embeddings, request.base64),
          model: answered.id,
          model_tier: model.tier,
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        };
        const used = {
          tokens: tokenClasses({ prompt: tokens, completion: 0, total: tokens }, null),
          upstreamId: value.providerMetadata?.['penstock']?.['id'],
        };
        return { answer, amounts: metering.tokenAmounts(tokens, tokenRate(model)), used };
      },
    }),
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
