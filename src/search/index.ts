export { createSearch } from './search.js';
export type { SearchSettings } from './search.js';
export { SearchError } from './search.types.js';
export type { Search, SearchResult } from './search.types.js';
