import type { EmbeddingModelV4Result } from '@ai-sdk/provider';
import type { Logger } from 'pino';
import { ApiError, invalid } from '../errors.js';
import { newId } from '../ids.js';
import type { CallContext } from '../metering/call-context.js';
import type { Metering } from '../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../models/models.types.js';
import { abortedError, UpstreamError } from '../providers/index.js';
import type { Provider, ProviderRegistry, Tokenizer } from '../providers/index.js';
import { admitCall } from './call-admission.js';
import { answerOfFault } from './chat-settlement.js';
import { tokenRate } from './chat-usage.js';
import type { EmbeddingService } from './generation.types.js';
import { isTierAllowed } from './pipeline-checks.js';
import { createRouter } from './routing.js';

const MAX_TEXTS = 2048;
const MAX_DIMENSIONS = 4096;

export interface EmbeddingOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  metering: Metering;
  tokenizer: Tokenizer;
  logger: Logger;
}

interface Checked {
  model: Model;
  texts: string[];
  tokens: number;
  base64: boolean;
  /** For the upstream: what the caller set. */
  extras: { dimensions?: number; user?: string };
}

function readTexts(input: unknown): string[] {
  if (input == null) throw invalid('input is required', 'input');
  const texts = Array.isArray(input) ? (input as unknown[]) : [input];
  if (texts.length === 0 || texts.length > MAX_TEXTS || !texts.every((text) => typeof text === 'string')) {
    throw invalid(`input must be a string or an array of 1 to ${MAX_TEXTS} strings`, 'input');
  }
  if (texts.includes('')) throw invalid('input must not be empty', 'input');
  return texts;
}

function readOptions(body: Record<string, unknown>): Pick<Checked, 'base64' | 'extras'> {
  const { dimensions, encoding_format: format, user } = body;
  if (
    dimensions != null &&
    !(
      Number.isSafeInteger(dimensions) &&
      (dimensions as number) >= 1 &&
      (dimensions as number) <= MAX_DIMENSIONS
    )
  ) {
    throw invalid(`dimensions must be a whole number between 1 and ${MAX_DIMENSIONS}`, 'dimensions');
  }
  if (format != null && format !== 'float' && format !== 'base64') {
    throw invalid('encoding_format must be float or base64', 'encoding_format');
  }
  if (user != null && typeof user !== 'string') throw invalid('user must be a string', 'user');
  return {
    base64: format === 'base64',
    extras: {
      ...(dimensions == null ? {} : { dimensions: dimensions as number }),
      ...(user == null ? {} : { user }),
    },
  };
}

async function countTexts(texts: string[], model: Model, tokenizer: Tokenizer): Promise<number> {
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  let total = 0;
  for (const text of texts) {
    const tokens = await tokenizer.countAll([text], window);
    if (tokens > window) throw invalid(`input is longer than the model's ${window} tokens`, 'input');
    total += tokens;
  }
  return total;
}

/** Little-endian float32, as the convention's clients decode it. */
function toBase64(vector: number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

async function embed(
  provider: Provider,
  target: Model,
  work: { checked: Checked; signal: AbortSignal },
): Promise<EmbeddingModelV4Result> {
  const model = provider.embedding?.(target.upstream?.modelId ?? target.name);
  if (!model) throw new UpstreamError('No embeddings at this provider', { status: null, retryable: false });
  try {
    return await model.doEmbed({
      values: work.checked.texts,
      abortSignal: work.signal,
      providerOptions: { penstock: work.checked.extras },
    });
  } catch (error) {
    throw work.signal.aborted && !(error instanceof UpstreamError) ? abortedError() : error;
  }
}

/** Embeddings (decisions.md 6): charged as chat is, not a job. */
export function createEmbeddingService(options: EmbeddingOptions): EmbeddingService {
  const { models, metering, tokenizer, logger } = options;
  const router = createRouter(options);
  const never = new AbortController().signal;

  const check = async (call: CallContext, body: Record<string, unknown>): Promise<Checked> => {
    const model = models.resolve('embedding', body['model'] as string | null | undefined);
    if (!isTierAllowed(call.principal.plan, model)) {
      throw new ApiError('model_tier_not_allowed', 'Model tier not allowed', { param: 'model' });
    }
    const texts = readTexts(body['input']);
    return { model, texts, ...readOptions(body), tokens: await countTexts(texts, model, tokenizer) };
  };

  const admit = async (
    call: CallContext,
    body: Record<string, unknown>,
  ): Promise<Checked & { operationId: string }> => {
    let checked: Checked;
    try {
      checked = await check(call, body);
    } catch (fault) {
      await admitCall(metering, call, {});
      throw fault;
    }
    const operationId = newId('op');
    const price = { promptTokens: checked.tokens, maxTokens: 0, multiplier: tokenRate(checked.model) };
    await admitCall(metering, call, {
      operation: { id: operationId, kind: 'embedding', price, model: checked.model.id },
    });
    return { ...checked, operationId };
  };

  return {
    async create(call, body) {
      const checked = await admit(call, body);
      const signal = call.idempotencyKey === null ? call.signal : never;
      const { value, model } = await router
        .route(checked.model, signal, (provider, target) => embed(provider, target, { checked, signal }))
        .catch(async (error: unknown) => {
          await metering.release(checked.operationId);
          if (!(error instanceof UpstreamError)) logger.error({ err: error }, 'embeddings failed');
          throw answerOfFault(error);
        });
      const tokens = value.usage?.tokens ?? checked.tokens;
      const settled = await metering.settle(
        checked.operationId,
        metering.tokenAmounts(tokens, tokenRate(checked.model)),
      );
      return {
        object: 'list',
        data: value.embeddings.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: checked.base64 ? toBase64(vector) : vector,
        })),
        model: model.id,
        model_tier: checked.model.tier,
        usage: {
          prompt_tokens: tokens,
          total_tokens: tokens,
          credits_used: (settled.charged.credits ?? 0) / 100,
        },
      };
    },
    async estimate(call, body) {
      const { model, tokens } = await check(call, body);
      return {
        model: model.id,
        modelTier: model.tier,
        amounts: metering.tokenAmounts(tokens, tokenRate(model)),
      };
    },
  };
}
