import { describe, expect, it } from 'vitest';
import {
  costOf,
  maximumCost,
  exactCost,
  nanoOf,
  priceVersions,
  usdOf,
  versionAt,
} from '../../src/pricing/index.js';
import type { PriceEntry, PriceVersion, TokenClasses, Used } from '../../src/pricing/pricing.types.js';
import { parseProvidersFile } from '../../src/providers/providers-file.js';

const version = (entry: PriceEntry): PriceVersion => priceVersions([entry], 'start')[0] as PriceVersion;
const tokens = (of: Partial<TokenClasses>): Used => ({
  tokens: { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, ...of },
});

describe('what a use of a model costs', () => {
  it.each<[string, PriceEntry, Used, string | null]>([
    ['input and output', { input: '0.4', output: '1.6' }, tokens({ input: 1000, output: 100 }), '0.00056'],
    [
      'cached and written input and reasoning at their own prices, once each',
      { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15, reasoning: 20 },
      tokens({ input: 1000, cachedInput: 600, cacheWrite: 300, output: 50, reasoning: 40 }),
      // 100 × 3 + 600 × 0.3 + 300 × 3.75 + 10 × 15 + 40 × 20
      '0.002555',
    ],
    [
      "classes without a price cost their whole's",
      { input: 3, output: 15 },
      tokens({ input: 1000, cachedInput: 600, cacheWrite: 300, output: 50, reasoning: 40 }),
      '0.00375',
    ],
    ['half a nano-dollar rounds up', { input: '0.0005' }, tokens({ input: 1 }), '0.000000001'],
    ['less than half rounds down', { input: '0.000499999999' }, tokens({ input: 1 }), '0'],
    ['a price of 0 is known', { input: 0, output: 0 }, tokens({ input: 5, output: 5 }), '0'],
    ['a class that was used and has no price', { output: 1 }, tokens({ input: 5, output: 5 }), null],
    ['a class that was not used needs none', { input: 1 }, tokens({ input: 5 }), '0.000005'],
    ['images', { image: '0.04' }, { units: { image: 3 } }, '0.12'],
    ['seconds with decimals', { second: '0.0001' }, { units: { second: 12.345 } }, '0.0012345'],
    ['units without a price', { input: 1 }, { units: { track: 1 } }, null],
    ['units without a price beside no tokens', { input: '1' }, { ...tokens({}), units: { track: 1 } }, null],
    [
      'tokens without a price beside no units',
      { image: '1' },
      { ...tokens({ input: 5 }), units: { image: 0 } },
      null,
    ],
    [
      'what is priced by the piece is not unknown because its tokens have no price',
      { image: '0.04' },
      { ...tokens({ input: 10, output: 1000 }), units: { image: 1 } },
      '0.04',
    ],
    [
      'a long prompt costs more, all of it',
      { input: 1, cachedInput: '0.1', output: 2, longContext: { above: 100, input: 2, output: 4 } },
      tokens({ input: 101, cachedInput: 1, output: 10 }),
      '0.0002401',
    ],
    [
      'a prompt at the threshold is not long',
      { input: 1, output: 2, longContext: { above: 100, input: 2, output: 4 } },
      tokens({ input: 100, output: 10 }),
      '0.00012',
    ],
    [
      'a billion tokens without a lost digit',
      { input: '0.123456789012' },
      tokens({ input: 1_000_000_007 }),
      '123.456789876',
    ],
  ])('%s', (_, entry, used, usd) => {
    const nano = costOf(version(entry), used);
    expect(nano === null ? null : usdOf(nano)).toBe(usd);
  });

  it('an unknown price is null, and nothing used costs 0 where there is a price', () => {
    expect(costOf(null, tokens({}))).toBeNull();
    expect(costOf(version({ input: 1 }), {})).toBe(0n);
  });

  it('several attempts are summed before they are rounded', () => {
    const price = version({ input: '0.0003' });
    const one = exactCost(price, tokens({ input: 1 })) as bigint;
    expect(nanoOf(one)).toBe(0n);
    expect(nanoOf(one + one)).toBe(1n);
  });

  it('the most a call can cost covers whatever classes its tokens turn out to be', () => {
    const price = version({ input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15, reasoning: 20 });
    const most = maximumCost(price, { promptTokens: 1000, maxTokens: 50 }) as bigint;
    expect(usdOf(most)).toBe('0.00475');
    const all = tokens({ input: 1000, cacheWrite: 1000, output: 50, reasoning: 50 });
    expect(costOf(price, all)).toBe(most);
    expect(maximumCost(version({ image: 1 }), { promptTokens: 1, maxTokens: 0 })).toBeNull();
    expect(maximumCost(version({ image: 1 }), { promptTokens: 0, maxTokens: 0, units: { image: 2 } })).toBe(
      2_000_000_000n,
    );
  });

  it('a version holds from its moment until the next; before the first there is none', () => {
    const dated = priceVersions(
      [
        { from: '2026-12-01', input: 2 },
        { from: '2026-11-01T12:00Z', input: 1 },
      ],
      'start',
    );
    const at = (time: string) => versionAt(dated, Date.parse(time))?.from;
    expect(at('2026-11-01T11:59:59.999Z')).toBeUndefined();
    expect(at('2026-11-01T12:00:00Z')).toBe('2026-11-01T12:00Z');
    expect(at('2026-11-30T23:59:59.999Z')).toBe('2026-11-01T12:00Z');
    expect(at('2026-12-01T00:00:00Z')).toBe('2026-12-01');
    expect(versionAt(priceVersions([{ input: 1 }], 'start'), 0)?.from).toBe('start');
  });
});

describe('costs in PROVIDERS_FILE', () => {
  const faultsOf = (cost: unknown): string[] => {
    const model = { id: 'acme/a', upstreamId: 'a', type: 'chat', tier: 'basic', cost };
    const file = {
      providers: [
        { id: 'acme', kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', models: [model] },
      ],
    };
    try {
      parseProvidersFile(JSON.stringify(file), {});
      return [];
    } catch (error) {
      return (error as { faults: string[] }).faults;
    }
  };
  const place = 'providers.0.models.0.cost';

  it('are read as strings and as numbers', () => {
    expect(
      faultsOf([
        { input: '0.40', output: 1e-7 },
        { from: '2026-12-01', input: 1 },
      ]),
    ).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['no list', { input: 1 }, `${place}:`],
    ['a negative amount', [{ input: -1 }], `${place}.0.input:`],
    ['a word', [{ input: 'free' }], `${place}.0.input:`],
    ['too many decimals', [{ input: '0.0000000000001' }], `${place}.0.input:`],
    ['more than a million', [{ image: '1000000.5' }], `${place}.0.image:`],
    ['an unknown class', [{ inputs: 1 }], `${place}.0:`],
    ['no day', [{ from: '2026-02-30', input: 1 }], `${place}.0.from:`],
    ['a local time', [{ from: '2026-02-03T10:00', input: 1 }], `${place}.0.from:`],
    [
      'a moment twice',
      [
        { from: '2026-02-03', input: 1 },
        { from: '2026-02-03T00:00Z', input: 2 },
      ],
      `${place}.1.from:`,
    ],
    ['two without a moment', [{ input: 1 }, { input: 2 }], `${place}.1.from:`],
    [
      'a fault in the prices of long prompts',
      [{ input: 1, longContext: { above: 0 } }],
      `${place}.0.longContext.above:`,
    ],
  ])('%s ends the start, and the fault names its place', (_, cost, at) => {
    const faults = faultsOf(cost);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(at);
  });
});
