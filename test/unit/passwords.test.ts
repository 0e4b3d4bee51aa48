import { expect, test } from 'vitest';
import { hashPassword, matchPassword } from '../../src/access/people/passwords.js';

test('a password is known again however its letters were composed, and no other is', async () => {
  const stored = await hashPassword('caf\u00e9 au lait, merci');
  expect(stored).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
  const candidates = [{ stored }];
  expect(await matchPassword('cafe\u0301 au lait, merci', candidates)).toEqual(candidates);
  expect(await matchPassword('cafe au lait, merci', candidates)).toEqual([]);
});

test('of several passwords of a person those are told that it is, for one derivation', async () => {
  const one = { stored: await hashPassword('correct horse battery staple'), vouchedBy: 'one' };
  const other = { stored: await hashPassword('another one altogether', one.stored), vouchedBy: 'other' };
  const twin = { stored: await hashPassword('correct horse battery staple', one.stored), vouchedBy: 'twin' };
  const stranger = { stored: await hashPassword('correct horse battery staple'), vouchedBy: 'stranger' };
  const saltOf = ({ stored }: { stored: string }) => stored.split('$')[4];
  expect(saltOf(other)).toBe(saltOf(one));
  expect(saltOf(stranger)).not.toBe(saltOf(one));
  const all = [one, other, twin, stranger];
  expect(await matchPassword('correct horse battery staple', all)).toEqual([one, twin, stranger]);
  expect(await matchPassword('another one altogether', all)).toEqual([other]);
  expect(await matchPassword('neither of them all', all)).toEqual([]);
});

test('guesses wait in a line that has an end: who comes after it is told to come again', async () => {
  const known = 'scrypt$2$1$1$AAAA$AAAA';
  const guesses = Array.from({ length: 150 }, () => matchPassword('guess', [{ stored: known }]));
  const outcomes = await Promise.allSettled(guesses);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(48);
  expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', details: { retryAfter: 10 } } });
});
