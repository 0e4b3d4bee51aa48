import type { RerankingModelV4Result } from '@ai-sdk/provider';
import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { abortedError, tokenClasses, tokenCount, UpstreamError } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import type { RerankService } from '../generation.types.js';
import { createDirectCall } from '../pipeline/direct-call.js';
import type { DirectCallOptions, MadeAnswer } from '../pipeline/direct-call.js';
import { priceOfUnits } from '../pipeline/unit-price.js';
import { modelFor } from '../pipeline/checks.js';
import { readRerankRequest } from './rerank-request.js';
import type { RerankRequest } from './rerank-request.js';

interface Checked {
  model: Model;
  request: RerankRequest;
  /** The number of documents in hundreds, rounded up. */
  units: number;
}

const DOCUMENTS_PER_UNIT = 100;

function check(
  { models }: Pick<DirectCallOptions, 'models'>,
  call: CallContext,
  body: Record<string, unknown>,
): Checked {
  const model = modelFor(body, { models, caller: call.principal, type: 'rerank' });
  const request = readRerankRequest(body);
  return { model, request, units: Math.ceil(request.documents.length / DOCUMENTS_PER_UNIT) };
}

/** A ranking, and the usage that its upstream reported. */
type Ranked = Pick<RerankingModelV4Result, 'ranking' | 'response' | 'providerMetadata'>;

async function rank(
  provider: Provider,
  target: Model,
  { request, signal }: { request: RerankRequest; signal: AbortSignal },
): Promise<Ranked> {
  const model = provider.rerank?.(target.upstream?.modelId ?? target.name);
  if (!model) throw new UpstreamError('No rerank at this provider', { status: null, retryable: false });
  const { query, documents, topN } = request;
  try {
    const { ranking, ...reported } = await model.doRerank({
      query,
      documents: { type: 'text', values: documents },
      topN,
      abortSignal: signal,
    });
    const best = ranking.toSorted((a, b) => b.relevanceScore - a.relevanceScore).slice(0, topN);
    return { ...reported, ranking: best };
  } catch (error) {
    throw signal.aborted && !(error instanceof UpstreamError) ? abortedError() : error;
  }
}

function madeOf(
  { ranking }: Ranked,
  { model, answered, request, units }: Checked & { answered: Model },
): MadeAnswer {
  const results = ranking.map(({ index, relevanceScore }) => ({
    index,
    relevance_score: relevanceScore,
    ...(request.returnDocuments ? { document: { text: request.documents[index] ?? '' } } : {}),
  }));
  const id = newId('rerank');
  return { id, model: answered.id, model_tier: model.tier, results, usage: { search_units: units } };
}

/** Upstreams charge for searches, of a hundred documents each, or for tokens. */
function usedBy({ response, providerMetadata }: Ranked, { units }: Checked) {
  const { searches, tokens } = providerMetadata?.['penstock'] ?? {};
  const reported = tokenCount(tokens);
  return {
    units: { search: tokenCount(searches) ?? units },
    ...(reported === null
      ? {}
      : { tokens: tokenClasses({ prompt: reported, completion: 0, total: reported }, null) }),
    upstreamId: response?.id,
  };
}

/** Rerank (beyond 11.12); it is not a job. */
export function createRerankService(options: DirectCallOptions): RerankService {
  return {
    create: createDirectCall<Checked, Ranked>(options, {
      name: 'rerank',
      kind: 'rerank',
      check: (call, body) => check(options, call, body),
      price: ({ units, model }) => priceOfUnits(units, model),
      mostUsed: ({ units }) => ({ units: { search: units } }),
      ask: (provider, target, { checked: { request }, signal }) =>
        rank(provider, target, { request, signal }),
      made: (ranked, { checked, answered }) =>
        Promise.resolve({
          answer: madeOf(ranked, { ...checked, answered }),
          amounts: priceOfUnits(checked.units, checked.model),
          used: usedBy(ranked, checked),
        }),
    }),
    estimate(call, body) {
      const { model, units } = check(options, call, body);
      return { model: model.id, modelTier: model.tier, amounts: priceOfUnits(units, model) };
    },
  };
}
