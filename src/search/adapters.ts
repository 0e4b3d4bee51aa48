/** What one search provider is asked, and how its answer is read. Addresses are the operator's own or the provider's public ones. */
export interface SearchAdapter {
  name: 'searxng' | 'brave' | 'tavily';
  request(query: string, limit: number): SearchHttpRequest;
  /** The provider's list of hits. */
  hits(answer: unknown): unknown;
  /** Names of a hit's fields: title, address, text. */
  fields: readonly [string, string, string];
}

export interface SearchHttpRequest {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
}

const at = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;

/** @param baseUrl without a trailing slash; the instance must allow the `json` format */
export function searxng(baseUrl: string): SearchAdapter {
  return {
    name: 'searxng',
    request: (query) => ({
      url: `${baseUrl}/search?${new URLSearchParams({ q: query, format: 'json' }).toString()}`,
      method: 'GET',
      headers: { accept: 'application/json' },
    }),
    hits: (answer) => at(answer, 'results'),
    fields: ['title', 'url', 'content'],
  };
}

/** Brave refuses questions of more than 400 characters or 50 words. */
function briefly(query: string): string {
  return query.split(' ').slice(0, 50).join(' ').slice(0, 400);
}

export function brave(apiKey: string, baseUrl = 'https://api.search.brave.com'): SearchAdapter {
  return {
    name: 'brave',
    request: (query, limit) => ({
      url: `${baseUrl}/res/v1/web/search?${new URLSearchParams({ q: briefly(query), count: String(limit) }).toString()}`,
      method: 'GET',
      headers: { accept: 'application/json', 'x-subscription-token': apiKey },
    }),
    hits: (answer) => at(at(answer, 'web'), 'results'),
    fields: ['title', 'url', 'description'],
  };
}

export function tavily(apiKey: string, baseUrl = 'https://api.tavily.com'): SearchAdapter {
  return {
    name: 'tavily',
    request: (query, limit) => ({
      url: `${baseUrl}/search`,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query: query.slice(0, 400), max_results: limit }),
    }),
    hits: (answer) => at(answer, 'results'),
    fields: ['title', 'url', 'content'],
  };
}
