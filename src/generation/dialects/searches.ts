import { newId } from '../../contract/ids.js';
import { ApiError } from '../../contract/errors.js';
import { bareOutcome } from '../../metering/index.js';
import type { Metering } from '../../metering/metering.types.js';
import { SearchError, WEB_SEARCH_CREDITS } from '../../search/index.js';
import type { Search, SearchResult } from '../../search/index.js';
import type { AdmittedChat } from '../chat/admission.js';
import { admitCall } from '../pipeline/call-admission.js';

/** So many searches an answer may have (beyond 11.7). */
const MAX_SEARCHES = 5;
const MAX_QUERY = 400;

/** What a model is told of a search, and what its answer may cite. */
export interface Searched {
  query: string;
  results: SearchResult[];
  /** For the model. */
  text: string;
  failed: boolean;
}

/** The function that stands for a maker's own web search: the model calls it, the search port answers. */
export const SEARCH_FUNCTION = {
  name: 'web_search',
  description: 'Search the web. Answers titles, addresses and short excerpts of the best pages.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'What to search for' } },
    required: ['query'],
    additionalProperties: false,
  },
} as const;

function textOf(results: readonly SearchResult[]): string {
  if (results.length === 0) return 'Nothing was found.';
  return results.map(({ title, url, snippet }, i) => `[${i + 1}] ${title} — ${url}\n${snippet}`).join('\n');
}

function queryOf(given: string): string {
  let query: unknown = given;
  try {
    query = (JSON.parse(given) as { query?: unknown } | null)?.query;
  } catch {
    // Some models say the question alone.
  }
  return [
    ...String(typeof query === 'string' ? query : '')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, MAX_QUERY)
    .join('');
}

/** The searches of one answer, each charged as the agents' tool is, under an operation of its own. */
export class WebSearches {
  /** How many were run. */
  asked = 0;
  /** Hundredths that were charged for them. */
  charged = 0;

  constructor(
    private readonly options: { search: Search; metering: Metering },
    /** The admitted call that they are made for. */
    private readonly chat: Pick<AdmittedChat, 'call' | 'request'>,
  ) {}

  /** Whether the model may still be offered the tool. */
  get left(): boolean {
    return this.asked < MAX_SEARCHES;
  }

  /** Runs what a model asked for. Where it fails, the model is told so, and answers without it. */
  async run(callArguments: string): Promise<Searched> {
    const query = queryOf(callArguments);
    const failed = (text: string): Searched => ({ query, results: [], text, failed: true });
    if (query === '') return failed('The search had no query.');
    if (!this.left) return failed(`No more than ${MAX_SEARCHES} searches are made for one answer.`);
    this.asked++;
    const { metering, search } = this.options;
    const operationId = newId('op');
    const price = { credits: WEB_SEARCH_CREDITS * 100 };
    try {
      await admitCall(metering, this.chat.call, {
        operation: { id: operationId, kind: 'agent_tool', price, model: null },
        attribution: this.chat.request.attribution,
      });
    } catch (error) {
      if (error instanceof ApiError) return failed('The search could not be paid for.');
      throw error;
    }
    try {
      // With an Idempotency-Key the call finishes without its caller, its searches too.
      const { idempotencyKey, signal: left } = this.chat.call;
      const signal = idempotencyKey === null ? { signal: left } : {};
      const results = await search.search(query, signal);
      const settled = await metering.settle(operationId, {
        amounts: price,
        outcome: bareOutcome('succeeded'),
      });
      this.charged += settled.charged.credits ?? 0;
      return { query, results, text: textOf(results), failed: false };
    } catch (error) {
      const left = this.chat.call.idempotencyKey === null && this.chat.call.signal.aborted;
      await metering.release(
        operationId,
        left ? bareOutcome('cancelled') : bareOutcome('failed', 'server_error'),
      );
      if (!(error instanceof SearchError)) throw error;
      return failed(error.message);
    }
  }
}
