import type { RerankingModelV4Result } from '@ai-sdk/provider';
import type { Logger } from 'pino';
import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Metering, Settlement } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { abortedError, UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';
import { answerOfFault } from '../chat/settlement.js';
import type { RerankService } from '../generation.types.js';
import { admitCall } from '../pipeline/call-admission.js';
import { priceOfUnits } from '../pipeline/unit-price.js';
import { modelFor } from '../pipeline/checks.js';
import { createUpstreams } from '../pipeline/upstreams.js';
import { readRerankRequest } from './rerank-request.js';
import type { RerankRequest } from './rerank-request.js';

interface RerankOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  metering: Metering;
  logger: Logger;
}

interface Checked {
  model: Model;
  request: RerankRequest;
  /** Started hundreds of documents. */
  units: number;
}

const DOCUMENTS_PER_UNIT = 100;

function check({ models }: RerankOptions, call: CallContext, body: Record<string, unknown>): Checked {
  const model = modelFor(body, { models, plan: call.principal.plan, type: 'rerank' });
  const request = readRerankRequest(body);
  return { model, request, units: Math.ceil(request.documents.length / DOCUMENTS_PER_UNIT) };
}

/** Slots and price in one statement; a fault of the checks is told once the slot was taken (429 comes before 403 and 400). */
async function admit(
  options: RerankOptions,
  call: CallContext,
  body: Record<string, unknown>,
): Promise<Checked & { operationId: string }> {
  let checked: Checked;
  try {
    checked = check(options, call, body);
  } catch (fault) {
    await admitCall(options.metering, call, {});
    throw fault;
  }
  const { model, units } = checked;
  const operationId = newId('op');
  await admitCall(options.metering, call, {
    operation: { id: operationId, kind: 'rerank', price: priceOfUnits(units, model), model: model.id },
  });
  return { ...checked, operationId };
}

type Ranking = RerankingModelV4Result['ranking'];

async function rank(
  provider: Provider,
  target: Model,
  { request, signal }: { request: RerankRequest; signal: AbortSignal },
): Promise<Ranking> {
  const model = provider.rerank?.(target.upstream?.modelId ?? target.name);
  if (!model) throw new UpstreamError('No rerank at this provider', { status: null, retryable: false });
  const { query, documents, topN } = request;
  try {
    const { ranking } = await model.doRerank({
      query,
      documents: { type: 'text', values: documents },
      topN,
      abortSignal: signal,
    });
    return ranking.toSorted((a, b) => b.relevanceScore - a.relevanceScore).slice(0, topN);
  } catch (error) {
    throw signal.aborted && !(error instanceof UpstreamError) ? abortedError() : error;
  }
}

/** The answer before it is charged. */
interface MadeRanking extends Record<string, unknown> {
  usage: { search_units: number };
}

function madeOf(ranking: Ranking, { model, answered, request, units }: Checked & { answered: Model }) {
  const results = ranking.map(({ index, relevanceScore }) => ({
    index,
    relevance_score: relevanceScore,
    ...(request.returnDocuments ? { document: { text: request.documents[index] ?? '' } } : {}),
  }));
  const id = newId('rerank');
  return { id, model: answered.id, model_tier: model.tier, results, usage: { search_units: units } };
}

const inputOf = (body: Record<string, unknown>): unknown => ['rerank', body];

const priced = (made: MadeRanking, { charged }: Settlement): Record<string, unknown> => ({
  ...made,
  usage: { ...made.usage, credits_used: (charged.credits ?? 0) / 100 },
});

/** What an earlier request with the call's Idempotency-Key was charged for and did not live to give. */
async function chargedBefore(
  { metering }: RerankOptions,
  { madeAnswers }: CallContext,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  const earlier = await madeAnswers?.take(inputOf(body));
  if (!earlier) return null;
  const settlement = await metering.settledBefore(earlier.operationId);
  return settlement && priced(earlier.value as MadeRanking, settlement);
}

/** Rerank (beyond 11.12): not a job. */
export function createRerankService(options: RerankOptions): RerankService {
  const { metering, logger } = options;
  const upstreams = createUpstreams(options);
  const never = new AbortController().signal;
  return {
    async create(call, body) {
      const before = await chargedBefore(options, call, body);
      if (before) return before;
      const { operationId, ...checked } = await admit(options, call, body);
      const { model: asked, request, units } = checked;
      const signal = call.idempotencyKey === null ? call.signal : never;
      const { value, model } = await upstreams
        .ask(asked, signal, (provider, target) => rank(provider, target, { request, signal }))
        .catch(async (error: unknown) => {
          await metering.release(operationId);
          if (!(error instanceof UpstreamError)) logger.error({ err: error }, 'rerank failed');
          throw answerOfFault(error);
        });
      const made: MadeRanking = madeOf(value, { ...checked, answered: model });
      await call.madeAnswers
        ?.keep(inputOf(body), { operationId, value: made })
        .catch(async (lost: unknown) => {
          await metering.release(operationId);
          throw lost;
        });
      return priced(made, await metering.settleUnseen(operationId, priceOfUnits(units, asked)));
    },
    estimate(call, body) {
      const { model, units } = check(options, call, body);
      return { model: model.id, modelTier: model.tier, amounts: priceOfUnits(units, model) };
    },
  };
}
