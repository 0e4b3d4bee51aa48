import { newId } from '../../contract/ids.js';
import { ApiError } from '../../contract/errors.js';
import { zeroCostOutcome } from '../../metering/index.js';
import type { Metering } from '../../metering/metering.types.js';
import { SearchError, WEB_SEARCH_CREDITS } from '../../search/index.js';
import type { Search, SearchResult } from '../../search/index.js';
import type { AdmittedChat } from '../chat/admission.js';
import { admitCall } from '../pipeline/call-admission.js';

/** The maximum of searches of one answer (beyond 11.7). */
const MAX_SEARCHES = 5;
const MAX_QUERY = 400;

/** The result of a search: the text for the model, and the addresses that its answer may cite. */
export interface Searched {
  query: string;
  results: SearchResult[];
  /** The text for the model. */
  text: string;
  failed: boolean;
}

/** The function that replaces a maker's own web search: the model calls it, and the search port answers. */
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
    // Some models send only the query, without an object.
  }
  return [
    ...String(typeof query === 'string' ? query : '')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, MAX_QUERY)
    .join('');
}

/** The searches of one answer. Each is charged like the agents' tool, under its own operation. */
export class WebSearches {
  /** The number of searches that ran. */
  asked = 0;
  /** Hundredths that were charged for them. */
  charged = 0;

  constructor(
    private readonly options: { search: Search; metering: Metering },
    /** The admitted call that needs the searches. */
    private readonly chat: Pick<AdmittedChat, 'call' | 'request'>,
  ) {}

  /** Whether the model may search again. */
  get left(): boolean {
    return this.asked < MAX_SEARCHES;
  }

  /** Runs a model's search. If it fails, the model gets the reason and answers without results. */
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
      // A call with an Idempotency-Key finishes without its caller, including its searches.
      const { idempotencyKey, signal: left } = this.chat.call;
      const signal = idempotencyKey === null ? { signal: left } : {};
      const results = await search.search(query, signal);
      const settled = await metering.settle(operationId, {
        amounts: price,
        outcome: zeroCostOutcome('succeeded'),
      });
      this.charged += settled.charged.credits ?? 0;
      return { query, results, text: textOf(results), failed: false };
    } catch (error) {
      const left = this.chat.call.idempotencyKey === null && this.chat.call.signal.aborted;
      await metering.release(
        operationId,
        left ? zeroCostOutcome('cancelled') : zeroCostOutcome('failed', 'server_error'),
      );
      if (!(error instanceof SearchError)) throw error;
      return failed(error.message);
    }
  }
}
