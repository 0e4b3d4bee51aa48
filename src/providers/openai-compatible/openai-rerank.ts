import type { RerankingModelV4, RerankingModelV4Result } from '@ai-sdk/provider';
import { isFields } from '../convention/answer-text.js';
import { tokenCount, findUsage } from '../convention/usage.js';
import type { RefusedFields } from './optional-fields.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';

const PATH = '/rerank';
/** Documents are put back here, and the best are taken of all. */
const OPTIONAL = { return_documents: [], top_n: [] };

type Ranking = RerankingModelV4Result['ranking'];

interface Item {
  index?: unknown;
  relevance_score?: unknown;
  score?: unknown;
}

/** @throws UpstreamError if a score is missing, repeated, or of an unknown document */
function checkedRanking(items: unknown, documents: number): Ranking {
  if (!Array.isArray(items) || items.length === 0) throw brokenAnswer('no results');
  const seen = new Set<number>();
  return (items as (Item | null)[]).map((item) => {
    const { index, relevance_score: relevance, score } = item ?? {};
    const relevanceScore = relevance ?? score;
    const isKnown = Number.isSafeInteger(index) && (index as number) >= 0 && (index as number) < documents;
    if (!isKnown || seen.has(index as number)) throw brokenAnswer('a result of no document');
    if (typeof relevanceScore !== 'number' || !Number.isFinite(relevanceScore))
      throw brokenAnswer('a result without a score');
    seen.add(index as number);
    return { index: index as number, relevanceScore };
  });
}

function read(answer: unknown, documents: number): Ranking {
  const parsed = answer as { results?: unknown; data?: unknown } | null;
  // Some call it data, some answer the list itself.
  return checkedRanking(parsed?.results ?? parsed?.data ?? parsed, documents);
}

/** The upstream's id of its answer, and what it charges for: searches or tokens. */
function factsOf(answer: unknown): Pick<RerankingModelV4Result, 'response' | 'providerMetadata'> {
  if (!isFields(answer)) return {};
  const { id, meta } = answer;
  const billed = isFields(meta) && isFields(meta['billed_units']) ? meta['billed_units'] : {};
  const searches = tokenCount(billed['search_units']);
  const usage = findUsage(answer);
  const tokens = usage === null ? null : tokenCount(usage['prompt_tokens'] ?? usage['total_tokens']);
  return {
    ...(typeof id === 'string' ? { response: { id } } : {}),
    providerMetadata: { penstock: { searches, tokens } },
  };
}

/** Rerank of an upstream that has the common form of it (`POST /rerank`). */
export function createOpenAiCompatibleRerank(options: {
  transport: Transport;
  providerId: string;
  modelId: string;
  refused: RefusedFields;
}): RerankingModelV4 {
  const { transport, providerId, modelId, refused } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    async doRerank({ query, documents, topN, abortSignal }) {
      const { values } = documents;
      const fields = { model: modelId, query, documents: values, top_n: topN, return_documents: false };
      const bytes = await refused.send({ path: PATH, modelId, optional: () => OPTIONAL }, (without) => {
        const sent = Object.entries(fields).filter(([name]) => !without.has(name));
        return transport.postForBytes(PATH, JSON.stringify(Object.fromEntries(sent)), {
          signal: abortSignal,
        });
      });
      const answer = await transport.readAnswer(bytes);
      return { ranking: read(answer, values.length), ...factsOf(answer), warnings: [] };
    },
  };
}
