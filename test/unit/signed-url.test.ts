import { describe, expect, it } from 'vitest';
import { createUrlSigner } from '../../src/files/index.js';
import { newId } from '../../src/contract/ids.js';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const key = { orgId: newId('org'), id: newId('file'), extension: 'png' };

const signerAt = (now: number, current = 'secret', previous: string | null = null) =>
  createUrlSigner({ current, previous }, () => now);

function verdict(signer: ReturnType<typeof signerAt>, address: string): string {
  const [pathname = '', query = ''] = address.split('?');
  return signer.verify(pathname, new URLSearchParams(query)).kind;
}

describe('a signed file address', () => {
  it('names the file that it was made for', () => {
    const signer = signerAt(NOON);
    const [pathname = '', query = ''] = signer.sign(key).split('?');
    expect(signer.verify(pathname, new URLSearchParams(query))).toMatchObject({ kind: 'valid', key });
    expect(pathname).toBe(`/files/${key.orgId}/${key.id}.png`);
  });

  it('is the same all day long and lives 7 to 8 days', () => {
    const address = signerAt(NOON).sign(key);
    expect(signerAt(NOON + DAY / 2 - 1).sign(key)).toBe(address);
    expect(signerAt(NOON + DAY / 2 + 1).sign(key)).not.toBe(address);
    expect(verdict(signerAt(NOON + 7 * DAY), address)).toBe('valid');
    expect(verdict(signerAt(NOON + 8 * DAY), address)).toBe('expired');
  });

  it('is worthless for another organisation, file, extension or expiry', () => {
    const signer = signerAt(NOON);
    const address = signer.sign(key);
    const expires = Number(/expires=(\d+)/.exec(address)?.[1]);
    for (const forged of [
      address.replace(key.orgId, newId('org')),
      address.replace(key.id, newId('file')),
      address.replace('.png', '.jpg'),
      address.replace(String(expires), String(expires + 86_400)),
      address.replace(/signature=./, 'signature=g'),
      address.replace(
        /(signature=)(.)/,
        (_all, name: string, first: string) => name + (first === '0' ? '1' : '0'),
      ),
      address.replace(/&signature=.*/, ''),
      address.replace(/expires=\d+/, 'expires='),
      `${address}&expires=${expires + 1}`,
      `${address}&signature=${'0'.repeat(64)}`,
      address.split('?')[0] ?? '',
    ])
      expect(verdict(signer, forged), forged).toBe('forged');
  });

  it.each([
    '/files/../secret',
    `/files/${key.orgId}/../${key.id}.png`,
    `/files/${key.orgId}/${key.id}`,
    '/files/',
    '/filesx',
  ])('is unknown where it is no file path: %s', (pathname) => {
    expect(verdict(signerAt(NOON), `${pathname}?expires=1&signature=${'0'.repeat(64)}`)).toBe('unknown');
  });

  it('holds over a change of the secret while the old one is accepted, and no longer', () => {
    const address = signerAt(NOON, 'old').sign(key);
    expect(verdict(signerAt(NOON, 'new', 'old'), address)).toBe('valid');
    expect(verdict(signerAt(NOON, 'new'), address)).toBe('forged');
    expect(verdict(signerAt(NOON, 'old'), signerAt(NOON, 'new', 'old').sign(key))).toBe('forged');
  });

  it('is signed again within a text where it is of the organisation and opened at the time given, and only there', () => {
    const base = 'https://penstock.test';
    const address = base + signerAt(NOON).sign(key);
    const later = signerAt(NOON + 20 * DAY);
    const text = `See [it](${address}), once more:${address},${address}. {"url":"${address}"}`;
    const those = { base, orgId: key.orgId, at: new Date(NOON) };
    expect(later.renew(text, those)).toBe(text.replaceAll(address, base + later.sign(key)));
    const rotated = createUrlSigner({ current: 'new', previous: 'secret' }, () => NOON + 20 * DAY);
    expect(rotated.renew(text, those)).toBe(text.replaceAll(address, base + rotated.sign(key)));
    const path = address.slice(base.length);
    for (const [orgId, at, words] of [
      [newId('org'), NOON, text],
      [key.orgId, NOON + 8 * DAY, text],
      [key.orgId, NOON, `${address}0`],
      [key.orgId, NOON, address.replace(key.id, newId('file'))],
      [key.orgId, NaN, text],
      // Whoever else stands in the address would be told the signature.
      [key.orgId, NOON, `![x](https://evil.example${path})`],
      [key.orgId, NOON, `<https://evil.example/?seen=${address}>`],
      [key.orgId, NOON, `https://evil.example/${address},${address}`],
      [key.orgId, NOON, `https://penstock.test.evil.example${path}`],
      [key.orgId, NOON, `https://penstock.test@evil.example${path}`],
    ] as const)
      expect(later.renew(words, { base, orgId, at: new Date(at) })).toBe(words);
  });

  it('is never made with an empty secret', () => {
    expect(() => signerAt(NOON, '')).toThrow('empty');
  });
});
