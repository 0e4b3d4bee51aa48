import { expect, test } from 'vitest';
import { hashPassword, isPassword } from '../../src/access/people/passwords.js';

test('a password is known again however its letters were composed, and no other is', async () => {
  const stored = await hashPassword('caf\u00e9 au lait, merci');
  expect(stored).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
  expect(await isPassword('cafe\u0301 au lait, merci', stored)).toBe(true);
  expect(await isPassword('cafe au lait, merci', stored)).toBe(false);
});

test('guesses wait in a line that has an end: who comes after it is told to come again', async () => {
  const known = 'scrypt$2$1$1$AAAA$AAAA';
  const guesses = Array.from({ length: 150 }, () => isPassword('guess', known));
  const outcomes = await Promise.allSettled(guesses);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(48);
  expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', details: { retryAfter: 10 } } });
});
