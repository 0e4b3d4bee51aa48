import { describe, expect, it } from 'vitest';
import { balancesOf, tokenAmounts } from '../../src/metering/index.js';
import type { RawBalance } from '../../src/metering/index.js';

describe('the price of tokens', () => {
  it('is at least one credit', () => {
    expect(tokenAmounts(1, 100)).toEqual({ credits: 100, chat_tokens: 100 });
    expect(tokenAmounts(0, 100)).toEqual({ credits: 100, chat_tokens: 0 });
  });

  it('begins a new credit with the first token beyond a thousand', () => {
    expect(tokenAmounts(1000, 100).credits).toBe(100);
    expect(tokenAmounts(1001, 100).credits).toBe(200);
  });

  it('multiplies before it rounds, with no binary fractions on the way', () => {
    expect(tokenAmounts(2000, 150)).toEqual({ credits: 300, chat_tokens: 300_000 });
    expect(tokenAmounts(1000, 115)).toEqual({ credits: 200, chat_tokens: 115_000 });
    expect(tokenAmounts(10_000, 110).credits).toBe(1100);
  });
});

describe('a bucket as the quota report shows it', () => {
  const raw = (values: Partial<Record<keyof RawBalance, number[]>>): RawBalance => ({
    allowance: [70_000, 0, 60_000, 0, 0, 0, 0, 0, -1],
    topupStart: [9_000],
    topupAdded: [1_000],
    used: [],
    reserved: [],
    ...values,
  });

  it('has what is neither used nor reserved as remaining, and a percentage of what is used', () => {
    const { credits } = balancesOf(raw({ used: [12_345], reserved: [5] }));
    expect(credits).toEqual({
      bucket: 'credits',
      limit: 800,
      used: 123.45,
      reserved: 0.05,
      remaining: 676.5,
      usagePercent: 15.43,
    });
  });

  it('never shows less than nothing as remaining', () => {
    expect(balancesOf(raw({ used: [90_000] })).credits).toMatchObject({ remaining: 0, usagePercent: 112.5 });
  });

  it('is 0 % used where there is no allowance, and -1 where there is no limit', () => {
    expect(balancesOf(raw({})).image_edits).toMatchObject({
      limit: 0,
      remaining: 0,
      used: 0,
      usagePercent: 0,
    });
    expect(balancesOf(raw({ used: [0, 0, 0, 0, 0, 0, 0, 0, 700] })).agent_runs).toMatchObject({
      limit: -1,
      remaining: -1,
      used: 7,
      usagePercent: 0,
    });
  });

  it('shows no more chat tokens than the credits can pay', () => {
    const { chat_tokens } = balancesOf(raw({ used: [79_900, 100_000] }));
    expect(chat_tokens).toMatchObject({ limit: 800_000, used: 1000, remaining: 1000 });
  });
});
