import { describe, expect, it } from 'vitest';
import { brave, searxng, tavily } from '../../src/search/adapters.js';

describe('a search provider', () => {
  it('is asked as its documentation says', () => {
    expect(searxng('http://search.local').request('a b&c', 5).url).toBe(
      'http://search.local/search?q=a+b%26c&format=json',
    );
    expect(brave('key').request('a b', 3)).toMatchObject({
      url: 'https://api.search.brave.com/res/v1/web/search?q=a+b&count=3',
      headers: { 'x-subscription-token': 'key' },
    });
    const long = new URL(brave('key').request('a '.repeat(300), 3).url).searchParams.get('q') ?? '';
    expect(long.split(' ')).toHaveLength(50);
    const asked = tavily('key').request('a b', 3);
    expect(asked).toMatchObject({
      url: 'https://api.tavily.com/search',
      method: 'POST',
      headers: { authorization: 'Bearer key' },
    });
    expect(JSON.parse(asked.body ?? '')).toEqual({ query: 'a b', max_results: 3 });
  });

  it('is read where it puts its results, and nowhere else', () => {
    const hits = [{ title: 't' }];
    expect(searxng('http://x').hits({ results: hits })).toBe(hits);
    expect(brave('k').hits({ web: { results: hits } })).toBe(hits);
    expect(tavily('k').hits({ results: hits })).toBe(hits);
    for (const adapter of [searxng('http://x'), brave('k'), tavily('k')]) {
      for (const answer of [null, [], 'x', {}, { web: null }]) expect(adapter.hits(answer)).toBeUndefined();
    }
  });
});
