import type { Usage } from '@anthropic-ai/sdk/resources/messages';
import { isFields, tokenCount, findTokenParts } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';

/** The charged counts with the makers' details, summed over the rounds of a message. */
export class MessageUsage {
  private created = 0;
  private read = 0;
  private thought = 0;
  private hasThought = false;
  /** Further fields of the maker, from the last round. */
  private others: Fields = {};

  /** @param reported with the names of the dialect or of chat */
  add(reported: unknown): void {
    if (!isFields(reported)) return;
    const { cacheWrite, cachedInput, reasoning } = findTokenParts(reported);
    this.created += cacheWrite ?? 0;
    this.read += cachedInput ?? 0;
    if (reasoning !== null) this.hasThought = true;
    this.thought += reasoning ?? 0;
    if ('output_tokens' in reported && !('completion_tokens' in reported)) this.others = reported;
  }

  /** @param searches that Penstock ran for the message */
  of({ prompt, completion }: Tokens, searches = 0): Usage {
    const known = this.created + this.read;
    const own = fieldsIn(this.others['server_tool_use']);
    const searched = (tokenCount(own['web_search_requests']) ?? 0) + searches;
    return {
      cache_creation: null,
      inference_geo: null,
      service_tier: 'standard',
      speed: null,
      output_tokens_details: this.hasThought ? { thinking_tokens: this.thought } : null,
      ...this.others,
      cache_creation_input_tokens: this.created,
      cache_read_input_tokens: this.read,
      input_tokens: Math.max(0, prompt - known),
      output_tokens: completion,
      server_tool_use:
        searched === 0 && Object.keys(own).length === 0
          ? null
          : { web_fetch_requests: 0, ...own, web_search_requests: searched },
    };
  }
}

const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

const COUNTS = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];

/** Merges two usage reports of one answer in the dialect. Counts only grow, so the later report wins, unless it is empty. */
export function laterReport(before: Fields | null, next: unknown): Fields | null {
  if (!isFields(next)) return before;
  const told = Object.fromEntries(Object.entries(next).filter(([, value]) => value != null));
  const merged: Fields = { ...before, ...told };
  for (const name of COUNTS)
    if (!tokenCount(told[name]) && before?.[name] !== undefined) merged[name] = before[name];
  return merged;
}
