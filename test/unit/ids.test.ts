import { expect, it } from 'vitest';
import { newId, timeOfId } from '../../src/contract/ids.js';

it('ids that a process makes sort by creation, also those of one millisecond, and none comes twice', () => {
  const ids = Array.from({ length: 50_000 }, (_, index) => newId('job', 1_800_000_000_000 + (index >> 12)));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids.slice(0, 100)) expect(id).toMatch(/^job_[0-9a-hjkmnp-tv-z]{26}$/);
});

it('an id tells when it was made', () => {
  for (const now of [0, 1_800_000_000_123, 2 ** 45]) expect(timeOfId(newId('resp', now))).toBe(now);
});
