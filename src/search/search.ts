import type { Dispatcher } from 'undici';
import { withoutEnding } from '../text/characters.js';
import { createOperatorAgent } from '../egress/index.js';
import { brave, searxng, tavily } from './adapters.js';
import type { SearchAdapter } from './adapters.js';
import { SearchError } from './search.types.js';
import type { Search, SearchResult } from './search.types.js';

const LIMIT = 5;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_QUERY = 2000;
const MAX_TITLE = 200;
const MAX_SNIPPET = 600;
const MAX_URL = 2048;
const PRINTABLE = /^[\x21-\x7e]+$/;

export interface SearchSettings {
  searxngUrl: string | null;
  braveApiKey: string | null;
  tavilyApiKey: string | null;
}

function adapterOf(settings: SearchSettings): SearchAdapter | null {
  if (settings.searxngUrl !== null) return searxng(withoutEnding(settings.searxngUrl, '/'));
  if (settings.braveApiKey !== null) return brave(settings.braveApiKey);
  return settings.tavilyApiKey === null ? null : tavily(settings.tavilyApiKey);
}

/** A hit's text on one line, without mark-up or control characters. */
function plain(value: unknown, max: number): string {
  if (typeof value !== 'string') return '';
  const text = value
    .slice(0, max * 4)
    .replace(/<[^<>]{0,200}>/g, '')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim();
  return [...text].slice(0, max).join('').toWellFormed();
}

/** A hit's address in ASCII, or null where it is none of the web. */
function addressOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_URL || !URL.canParse(value)) return null;
  const { protocol, username, password, href } = new URL(value);
  const isWeb = (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
  if (!isWeb || href.length > MAX_URL) return null;
  return PRINTABLE.test(value) ? value : href;
}

function resultsOf(adapter: SearchAdapter, answer: unknown, limit: number): SearchResult[] {
  const hits = adapter.hits(answer);
  if (!Array.isArray(hits)) throw new SearchError('The search provider answered without results');
  const [title, url, text] = adapter.fields;
  return (hits as Record<string, unknown>[])
    .flatMap((hit) => {
      const address = addressOf(hit?.[url]);
      if (address === null) return [];
      const heading = plain(hit[title], MAX_TITLE) || address;
      return [{ title: heading, url: address, snippet: plain(hit[text], MAX_SNIPPET) }];
    })
    .slice(0, limit);
}

async function ask(
  agent: Dispatcher,
  adapter: SearchAdapter,
  options: { query: string; limit: number; signal: AbortSignal },
): Promise<unknown> {
  const { url, method, headers, body } = adapter.request(options.query, options.limit);
  const { origin, pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  const answer = await agent.request({
    origin,
    path,
    method,
    headers,
    body: body ?? null,
    signal: options.signal,
  });
  let text = '';
  answer.body.setEncoding('utf8');
  for await (const chunk of answer.body) {
    text += chunk as string;
    if (text.length > MAX_BYTES) throw new SearchError('The search provider answered too much');
  }
  if (answer.statusCode !== 200) throw new SearchError(`The search provider answered ${answer.statusCode}`);
  return JSON.parse(text.replace(/^\ufeff/, '')) as unknown;
}

/** Web search by the first provider that is configured: SearXNG, Brave, Tavily. */
export function createSearch({ search: settings }: { search: SearchSettings }): Search {
  const adapter = adapterOf(settings);
  if (!adapter) {
    return { provider: null, search: () => Promise.resolve([]), close: () => Promise.resolve() };
  }
  const agent = createOperatorAgent({ headersTimeoutMs: TIMEOUT_MS, bodyTimeoutMs: TIMEOUT_MS });
  return {
    provider: adapter.name,
    async search(query, { limit = LIMIT, signal } = {}) {
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      try {
        const answer = await ask(agent, adapter, {
          query: query.replace(/\s+/g, ' ').trim().slice(0, MAX_QUERY),
          limit,
          signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
        });
        return resultsOf(adapter, answer, limit);
      } catch (error) {
        throw error instanceof SearchError
          ? error
          : new SearchError('The search provider cannot be reached', error);
      }
    },
    close: () => agent.destroy(),
  };
}
