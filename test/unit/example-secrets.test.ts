import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig, type ConfigError } from '../../src/config/index.js';

const faultsOf = (env: Record<string, string>): string[] => {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    return (error as ConfigError).faults;
  }
};

const EXAMPLES = [
  'change-me-before-anybody-else-can-reach-this',
  'changeme',
  'change_me',
  'CHANGE ME!',
  'change-this-in-production',
  'secret',
  'Secret',
  'my-secret',
  'mysecretkey',
  'your-secret-here',
  'your_secret_key',
  '<your secret>',
  'supersecret',
  'super-secret-key',
  'signing-secret',
  'secret-key',
  'password',
  'replace-me',
  'insert-your-secret-here',
  'placeholder',
  'example-secret',
  'test',
  'default',
  'xxxxxxxxxxxxxxxx',
  '00000000000000000000000000000000',
  '123456',
  '12345678',
];

test.each(EXAMPLES)('a start with the well-known secret %s is refused, and says what to do', (secret) => {
  const [fault, ...more] = faultsOf({ SIGNING_SECRET: secret });
  expect(more).toEqual([]);
  expect(fault).toContain('SIGNING_SECRET: is an example that everybody knows');
  expect(fault).not.toContain(secret.length > 12 ? secret : '\0');
});

test('secrets of one’s own are taken, whatever words they hold by chance', () => {
  const own = [
    ...Array.from({ length: 200 }, () => randomBytes(32).toString('hex')),
    ...Array.from({ length: 200 }, () => randomBytes(24).toString('base64')),
    'a long sentence about rivers and the dams in them',
    'SigningSecret0123456789abcdefghijklmnop',
    'a'.repeat(32),
  ];
  for (const secret of own)
    expect({ secret, faults: faultsOf({ SIGNING_SECRET: secret }) }).toEqual({ secret, faults: [] });
});

test('an example may still be the previous one, so that an installation can leave it', () => {
  expect(
    faultsOf({ SIGNING_SECRET: randomBytes(32).toString('hex'), SIGNING_SECRET_PREVIOUS: 'changeme' }),
  ).toEqual([]);
});

test('the compose file brings no secret of its own', async () => {
  const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const [, given] = /^ *SIGNING_SECRET:(.*)$/m.exec(compose) ?? [];
  expect(given).toBe('');
});
