import { z } from 'zod';
import type { Search } from '../../search/index.js';
import { SearchError } from '../../search/index.js';
import { defineTool } from './define-tool.js';
import { ToolError } from './tool.types.js';
import type { AgentTool } from './tool.types.js';

/** Contract 4.8: web search through the search provider that the operator configured. */
export function createWebSearchTool({ search }: { search: Search }): AgentTool {
  return defineTool({
    id: 'web_search',
    description: 'Search the web. Answers titles, addresses and short excerpts of the best pages.',
    credits: 5,
    input: z.object({
      query: z.string().trim().min(1).max(400).describe('What to search for'),
      limit: z.int().min(1).max(10).default(5).describe('How many results'),
    }),
    async run({ query, limit }, { signal }) {
      if (search.provider === null) throw new ToolError('Web search is not configured on this installation');
      try {
        const results = await search.search(query, { limit, signal });
        const text = results.map(({ title, url, snippet }, i) => `[${i + 1}] ${title} — ${url}\n${snippet}`);
        return {
          output: { query, results: results.map((result) => ({ ...result })) },
          text: text.length === 0 ? 'Nothing was found.' : text.join('\n'),
          source: `web search for ${query}`,
        };
      } catch (error) {
        throw error instanceof SearchError ? new ToolError(error.message, error) : error;
      }
    },
  });
}
