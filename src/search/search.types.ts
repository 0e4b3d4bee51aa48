/** One hit of a web search. */
export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
}

/** The web, as far as an installation can search it. */
export interface Search {
  /** Null where no search provider is configured: `search` then answers nothing. */
  readonly provider: 'searxng' | 'brave' | 'tavily' | null;
  /** At most `limit` results (default 5), best first. @throws SearchError */
  search(query: string, options?: { limit?: number; signal?: AbortSignal }): Promise<SearchResult[]>;
  close(): Promise<void>;
}

/** The search provider did not answer, or not as it should. The message never holds an address or a key. */
export class SearchError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SearchError';
  }
}
