import { z } from 'zod';
import type { ToolRules } from '../../providers/index.js';
import { SearchError, WEB_SEARCH_CREDITS } from '../../search/index.js';
import { hasSeries } from '../../text/numbers-in-text.js';
import { shortened } from '../../text/titles.js';
import { defineTool } from './define-tool.js';
import { ToolError } from './tool.types.js';
import type { ToolContext, ToolOutcome } from './tool.types.js';

const NOTICE =
  'Sandbox result: this installation has no search provider, so the web was not searched ' +
  '(SEARXNG_URL, BRAVE_API_KEY or TAVILY_API_KEY gives it one).';
const NOTHING_GIVEN = 'Nothing that this run was given says anything on it.';
const MAX_SNIPPET = 600;

const SEARCH =
  /\b(search|look up|find out|google|latest|newest|what(?:'s| is) new|news|trends? in|research|the web|sources?|briefing)\b/i;
const QUESTION = /\?\s*$|\?\s|^(?:who|what|when|where|why|how|which|is|are|does|do|can|should)\b/i;
const OWN = /\b(?:my name|about me|do you know me|remember|did i|have i|told you)\b/i;
const ABOUT = /^(?:write|draft|compose|prepare|plan)\b[^]*\b(?:about|on|article|blog)\b/i;
const MAX_QUERY = 300;

const RULES: ToolRules = {
  gathers: true,
  findsPages: true,
  thought: 'The question asks for what the web says: I search for it.',
  fits({ text, answered, url }) {
    if (SEARCH.test(text)) return true;
    const asks = QUESTION.test(text) || ABOUT.test(text);
    return !answered && url === null && !OWN.test(text) && !hasSeries(text) && asks;
  },
  input: ({ topic, text }) => ({
    query: shortened(QUESTION.test(text) ? text : topic, MAX_QUERY) || 'news',
  }),
  heading: 'What the web says',
  section(answer) {
    if (!answer.startsWith(NOTICE)) return { heading: 'What the web says', text: answer };
    const given = answer.slice(NOTICE.length).trim();
    return given.startsWith(NOTHING_GIVEN) ? null : { heading: 'What was given says', text: given };
  },
};

/** Contract 4.8: web search through the search provider that the operator configured. */
export const webSearch = defineTool({
  id: 'web_search',
  description: 'Search the web. Answers titles, addresses and short excerpts of the best pages.',
  credits: WEB_SEARCH_CREDITS,
  input: z.object({
    query: z.string().trim().min(1).max(400).describe('What to search for'),
    limit: z.int().min(1).max(10).default(5).describe('How many results'),
  }),
  sandbox: RULES,
  async run({ query, limit }, context, { search, providers }) {
    if (search.provider === null) {
      const provider = providers.find(context.model.upstream?.providerId ?? '');
      if (provider?.takesStandIns) return await fromMaterial(query, limit, context);
      throw new ToolError('Web search is not configured on this installation');
    }
    try {
      const results = await search.search(query, { limit, signal: context.signal });
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

/** The sandbox's search: what the run itself was given, and plainly said to be nothing else. */
async function fromMaterial(query: string, limit: number, context: ToolContext): Promise<ToolOutcome> {
  const results = (await context.material(query, limit)).map(({ source, text }) => ({
    title: source,
    url: null,
    snippet: (text ?? '').replace(/\s+/g, ' ').trim().slice(0, MAX_SNIPPET),
  }));
  const list = results.map(({ title, snippet }, i) => `[${i + 1}] ${title}\n${snippet}`);
  const found = list.length === 0 ? NOTHING_GIVEN : `What this run was given says:\n${list.join('\n')}`;
  return {
    output: { query, sandbox: true, notice: NOTICE, results },
    text: `${NOTICE} ${found}`,
    source: `sandbox search for ${query}`,
  };
}
