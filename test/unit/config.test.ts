import { expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config/index.js';

function faultsOf(env: Record<string, string>): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('an empty environment is a laptop', () => {
  const config = loadConfig({});
  expect(config).toMatchObject({
    role: 'all',
    http: {
      port: 4000,
      host: '127.0.0.1',
      publicUrl: 'http://127.0.0.1:4000',
      corsOrigins: [],
      trustProxy: [],
    },
    database: { url: null },
    kafka: null,
    jobs: { retentionDays: 30, syncTimeoutMs: 600_000, concurrency: {} },
    webhooks: { retryDelaysMs: [0, 30_000, 120_000, 600_000, 3_600_000] },
  });
  expect(config.dataDir).toMatch(/^\/.*\.data$/);
});

test('every fault is listed at once, without the values', () => {
  const faults = faultsOf({
    PORT: 'http',
    ROLE: 'boss',
    DATABASE_URL: 'mysql://user:hunter2@db/x',
    EGRESS_ALLOW: '10.0.0.0/33',
    SIGNING_SECRET: '',
    WORKER_CONCURRENCY: 'image:0',
    TRUST_PROXY: 'everybody',
    CORS_ORIGINS: 'https://app.example.com/path',
    KAFKA_SASL_USERNAME: 'me',
  });
  const names = faults.map((fault) => fault.split(':')[0]);
  expect(names.toSorted()).toEqual(
    [
      'CORS_ORIGINS',
      'DATABASE_URL',
      'EGRESS_ALLOW',
      'KAFKA_SASL_MECHANISM',
      'PORT',
      'PUBLIC_URL',
      'ROLE',
      'SIGNING_SECRET',
      'TRUST_PROXY',
      'WORKER_CONCURRENCY',
    ].toSorted(),
  );
  expect(faults.join('\n')).not.toContain('hunter2');
});

test.each(['postgresql://', 'postgresql://db:port/x', 'postgresql://db:99999/x', 'postgresql://a b/x'])(
  'DATABASE_URL %s is no address, and is said so before anything is asked of it',
  (url) => {
    const faults = faultsOf({ DATABASE_URL: url, PUBLIC_URL: 'https://api.example.com' });
    expect(faults).toEqual(['DATABASE_URL: must be a postgresql:// URL']);
  },
);

test.each(['kafka', 'kafka:0', 'kafka:99999', '::1:9092', 'kafka:9092,http://kafka:9092', ','])(
  'KAFKA_BROKERS %s ends the start instead of being tried for ever',
  (brokers) => {
    const fault = 'KAFKA_BROKERS: must be host:port, separated by commas';
    expect(faultsOf({ KAFKA_BROKERS: brokers })).toEqual([fault]);
  },
);

test.each(['http://x/base?q=1', 'https://x/#top', 'https://me:secret@x'])(
  'PUBLIC_URL and S3_ENDPOINT %s, to which no path can be added, are refused',
  (url) => {
    expect(faultsOf({ PUBLIC_URL: url, S3_ENDPOINT: url })).toEqual([
      'PUBLIC_URL: must have no user, query or fragment',
      'S3_ENDPOINT: must have no user, query or fragment',
    ]);
  },
);

test.each([',', ' , ', '1,x'])('WEBHOOK_RETRY_DELAYS_MS "%s" is told what it must be', (delays) => {
  expect(faultsOf({ WEBHOOK_RETRY_DELAYS_MS: delays })).toEqual([
    'WEBHOOK_RETRY_DELAYS_MS: must be whole milliseconds, separated by commas',
  ]);
});

test('an unknown sslmode is refused, not taken for the strictest', () => {
  const url = 'postgresql://u@db/x?sslmode=';
  const faults = (mode: string) =>
    faultsOf({ DATABASE_URL: url + mode, PUBLIC_URL: 'https://api.example.com' });
  for (const mode of ['allow', 'disable&sslmode=maybe', 'maybe&sslmode=disable'])
    expect(faults(mode)).toEqual([
      'DATABASE_URL: sslmode must be one of disable, prefer, require, verify-ca, verify-full, no-verify',
    ]);
  expect(faults('verify-full&sslrootcert=/ca.pem')).toEqual([]);
});

test('PUBLIC_URL is required with DATABASE_URL', () => {
  expect(faultsOf({ DATABASE_URL: 'postgresql://db/x' })).toEqual([
    'PUBLIC_URL: is required with DATABASE_URL',
  ]);
  expect(
    faultsOf({ DATABASE_URL: 'postgresql://u@/x?host=/run/pg', PUBLIC_URL: 'https://api.example.com/' }),
  ).toEqual([]);
});

test.each([
  ['http://id.example.com', 'must be an https URL (http on a loopback address only)'],
  ['http://127.0.0.1.example.com', 'must be an https URL (http on a loopback address only)'],
  ['id.example.com', 'must be an https URL (http on a loopback address only)'],
  ['https://id.example.com/?tenant=1', 'must have no user, query or fragment, and no /.well-known/…'],
  [
    'https://id.example.com/.well-known/openid-configuration',
    'must have no user, query or fragment, and no /.well-known/…',
  ],
])('OIDC_ISSUER %s, which would not do as one, ends the start', (issuer, fault) => {
  expect(faultsOf({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'x' })).toEqual([`OIDC_ISSUER: ${fault}`]);
});

test('half an identity provider is refused, a whole one keeps its issuer to the letter', () => {
  expect(faultsOf({ OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: ' ' })).toEqual([
    'OIDC_ISSUER: needs OIDC_CLIENT_ID with it',
  ]);
  expect(faultsOf({ OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 's', PORT: 'http' })).toEqual([
    'PORT: must be a whole number',
    'OIDC_CLIENT_ID: needs OIDC_ISSUER with it',
    'OIDC_CLIENT_SECRET: needs OIDC_ISSUER with it',
  ]);
  expect(loadConfig({}).oidc).toBeNull();
  const issuer = 'https://id.example.com:8443/realms/acme/';
  expect(loadConfig({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'penstock' }).oidc).toEqual({
    issuer,
    clientId: 'penstock',
    clientSecret: null,
    name: 'id.example.com:8443',
  });
  expect(
    loadConfig({ OIDC_ISSUER: 'http://[::1]:9000', OIDC_CLIENT_ID: 'x', OIDC_NAME: 'Acme' }).oidc,
  ).toMatchObject({ name: 'Acme' });
});

test('lists are split and groups of proxies spelled out', () => {
  const config = loadConfig({
    KAFKA_BROKERS: 'a:9092, b:9093',
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: 'me',
    KAFKA_SASL_PASSWORD: 'secret',
    WORKER_CONCURRENCY: 'image:2,video:1',
    TRUST_PROXY: 'loopback, 10.1.0.0/16',
    WEBHOOK_RETRY_DELAYS_MS: '0,10,20',
    BRAVE_API_KEY: '',
  });
  expect(config.kafka).toMatchObject({
    brokers: ['a:9092', 'b:9093'],
    prefix: 'penstock',
    sasl: { username: 'me' },
  });
  expect(config.jobs.concurrency).toEqual({ image: 2, video: 1 });
  expect(config.http.trustProxy).toEqual(['127.0.0.0/8', '::1/128', '10.1.0.0/16']);
  expect(config.webhooks.retryDelaysMs).toEqual([0, 10, 20]);
  expect(config.search.braveApiKey).toBeNull();
});
