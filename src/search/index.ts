export { createSearch } from './search.js';
export type { SearchSettings } from './search.js';
export { SearchError } from './search.types.js';
export type { Search, SearchResult } from './search.types.js';

/** Credits of one search that a model asks for: the price of the agents' tool. */
export const WEB_SEARCH_CREDITS = 5;
