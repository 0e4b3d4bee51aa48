import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { z } from 'zod';
import { withoutEnding } from '../text/characters.js';
import { OIDC_FIELDS, oidcFaults, oidcOf } from './oidc.js';
import type { OidcConfig } from './oidc.js';
import { TOOLS } from '../contract/words.js';
import type { Tool } from '../contract/words.js';

/** Everything an operator can set, read once from the environment (the README lists the variables). */
export interface Config {
  role: 'all' | 'api' | 'worker';
  logLevel: (typeof LOG_LEVELS)[number];
  /** Absolute path; holds the embedded database, the signing secret and stored files. */
  dataDir: string;
  http: {
    /** Default 4000; 0 takes any free port (tests). */
    port: number;
    host: string;
    /** Without a trailing slash; default `http://127.0.0.1:<port>`. */
    publicUrl: string;
    /** Whether the environment names it. */
    isPublicUrlSet: boolean;
    /** Origins such as `https://app.example.com`, or `*`. */
    corsOrigins: string[];
    /** Whether documents of GraphQL may be named by their hash, and whether no others may be sent (beyond 14.8). */
    trustedDocuments: (typeof TRUST_MODES)[number];
    /** CIDRs of proxies whose `X-Forwarded-For` counts (decisions 4). */
    trustProxy: string[];
    /** How many bytes of requests are read and held at once, of all callers together. */
    bodyBudgetBytes: number;
  };
  database: {
    /** Null: the embedded PostgreSQL of `dataDir`. */
    url: string | null;
    /** Connections of each of the three pools. */
    poolSize: number;
  };
  /** Null: the in-process bus and LISTEN/NOTIFY. */
  kafka: {
    brokers: string[];
    /** Heads topics and consumer groups; default `penstock`. */
    prefix: string;
    ssl: boolean;
    sasl: { mechanism: (typeof SASL_MECHANISMS)[number]; username: string; password: string } | null;
  } | null;
  /** Null: the ledger is kept for ever. */
  ledgerRetentionMonths: number | null;
  providersFile: string | null;
  plansFile: string | null;
  mcpFile: string | null;
  signing: {
    /** Null: one is made and kept (decisions 9). Read the one in force with `openInstallation`. */
    secret: string | null;
    /** Still accepted for verification. */
    previous: string | null;
  };
  /** Null: people sign in with passwords only. */
  oidc: OidcConfig | null;
  egress: {
    /** CIDRs that callers' URLs may reach although they are private. */
    allow: string[];
  };
  files: {
    /** The bucket of `FILES_URL`, or null for `dataDir/files`. */
    s3: {
      url: string;
      endpoint: string;
      region: string;
      accessKeyId: string;
      secretAccessKey: string;
    } | null;
  };
  jobs: {
    retentionDays: number;
    /** How long a synchronous generation waits, milliseconds. */
    syncTimeoutMs: number;
    /** Overrides of a worker's concurrency by tool. */
    concurrency: Partial<Record<Tool, number>>;
  };
  /** False: the optional codec package is not loaded, whether it is installed or not. */
  nativeCodecs: boolean;
  webhooks: {
    /** Delay before each attempt, from the previous one's end. */
    retryDelaysMs: number[];
  };
  search: { searxngUrl: string | null; braveApiKey: string | null; tavilyApiKey: string | null };
  /** Where traces go; null: nowhere. The SDK reads its other variables itself. */
  telemetry: { tracesUrl: string | null };
  /** What `${NAME}` in PROVIDERS_FILE and MCP_FILE is replaced from. */
  variables: Readonly<Record<string, string | undefined>>;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const TRUST_MODES = ['off', 'allow', 'only'] as const;
const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

/** A start that cannot be: every fault found, one line each. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`Invalid configuration:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

const integer = (min: number, max: number, fallback: number) => wholeNumber(min, max).default(fallback);

const url = (protocols: string[], what: string) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), what);

/** Whether a path can be appended to the address. */
const baseUrl = (value: string): boolean => {
  const { username, password } = new URL(value);
  return username === '' && password === '' && !/[?#]/.test(value);
};

const httpUrl = url(['http:', 'https:'], 'must be an http or https URL').transform((value) =>
  withoutEnding(value, '/'),
);
const ownUrl = httpUrl.refine(baseUrl, 'must have no user, query or fragment');
const nonBlank = z.string().refine((value) => value.trim() !== '', 'must not be empty');
const boolean = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .transform((value) => value === 'true' || value === '1');
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

function isCidr(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

const cidrs = list.pipe(
  z.array(z.string().refine(isCidr, 'must be addresses or CIDRs, separated by commas')),
);

/** Names for groups of proxies, as Express spells them. */
const PROXY_GROUPS: Record<string, string[]> = {
  none: [],
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

const proxies = list
  .transform((items) => items.flatMap((item) => PROXY_GROUPS[item] ?? [item]))
  .pipe(
    z.array(z.string().refine(isCidr, `must be addresses, CIDRs or ${Object.keys(PROXY_GROUPS).join(', ')}`)),
  );

const origins = list.pipe(
  z.array(
    z
      .string()
      .refine(
        (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
        'must be origins such as https://app.example.com',
      ),
  ),
);

const concurrency = list
  .pipe(
    z.array(
      z.string().regex(
        // bounded: of words of our own, on a setting of the operator's.
        new RegExp(`^(${TOOLS.join('|')}):[1-9]\\d{0,2}$`),
        `must be <tool>:<number> with a tool of ${TOOLS.join(', ')}`,
      ),
    ),
  )
  .transform(
    (items) =>
      Object.fromEntries(items.map((item) => [item.split(':')[0], Number(item.split(':')[1])])) as Partial<
        Record<Tool, number>
      >,
  );

/** Of examples in documentation and templates, without case and punctuation. */
const EXAMPLE_WORDS =
  // bounded: a secret of the operator's own, which no caller writes.
  /change(me|this|it)|replace(me|this|it|with)|(your|my|some|super|top|insert|put|enter)[a-z]*(secret|key|password)|secrethere|placeholder|example|notsecret|notasecret|insecure/;
const EXAMPLES =
  /^(the|a|jwt|app|session|signing|penstock|dev|test|default|local)*(secret|password|passwd|key|secretkey|signingsecret|test|dev|default|admin|penstock|todo|none|null|undefined|x+|0+|1+|1?23456\d*|abc123|qwerty|foobar|foo|bar)$/;

/** Whether a secret is one that others have read too. The previous one may be: it is on its way out, and opens what it sealed. */
function isExample(secret: string): boolean {
  const bare = secret.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (secret.trim() === '') return false;
  return bare === '' || EXAMPLES.test(bare) || (!/^[0-9a-f]{32,}$/.test(bare) && EXAMPLE_WORDS.test(bare));
}

/** Commas without anything between them are a template that was not filled in. */
const filledList = (isItem: (item: string) => boolean, what: string) =>
  list.refine((items) => items.length > 0 && items.every(isItem), `must be ${what}, separated by commas`);

const delays = filledList((item) => /^\d{1,10}$/.test(item), 'whole milliseconds').transform((items) =>
  items.map(Number),
);

/** As PostgreSQL's clients read it: a host may be missing, where a parameter names the socket. */
function isDatabaseUrl(value: string): boolean {
  return /^postgres(ql)?:\/\/\S+$/.test(value) && URL.canParse(value.replace('@/', '@socket/'));
}

/** What the client knows; of others it would make the strictest. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

function hasKnownSslMode(value: string): boolean {
  return [...value.matchAll(/[?&]sslmode=([^&]*)/g)].every(([, mode = '']) => SSL_MODES.includes(mode));
}

/** An IPv6 address in brackets. A port that cannot be would only be told by the client's attempts, for ever. */
function isHostAndPort(value: string): boolean {
  const [, port] = /^(?:[^\s:/]+|\[[^\]]+\]):(\d{1,5})$/.exec(value) ?? [];
  return Number(port) > 0 && Number(port) <= 65_535;
}

const MB = 1024 * 1024;
/** An organisation may hold half of it, and the largest body takes 60 MB, besides what is made of it. */
const MIN_BODY_BUDGET_MB = 160;

/** A quarter of what JavaScript may take: a body becomes text, values, and the request to an upstream. */
function defaultBudgetMb(): number {
  return Math.max(MIN_BODY_BUDGET_MB, Math.floor(getHeapStatistics().heap_size_limit / 4 / MB));
}

const Environment = z.object({
  PORT: integer(0, 65_535, 4000),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: ownUrl.optional(),
  DATA_DIR: z.string().default('./.data'),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, 'must be a postgresql:// URL')
    .refine(hasKnownSslMode, `sslmode must be one of ${SSL_MODES.join(', ')}`)
    .optional(),
  DATABASE_POOL_SIZE: integer(2, 1000, 10),
  KAFKA_BROKERS: filledList(isHostAndPort, 'host:port').default([]),
  KAFKA_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be letters, digits, dots, dashes and underscores')
    .default('penstock'),
  KAFKA_SSL: boolean.default(false),
  KAFKA_SASL_MECHANISM: z.enum(SASL_MECHANISMS, `must be ${SASL_MECHANISMS.join(', ')}`).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  ROLE: z.enum(['all', 'api', 'worker'], 'must be all, api or worker').default('all'),
  PROVIDERS_FILE: z.string().optional(),
  PLANS_FILE: z.string().optional(),
  MCP_FILE: z.string().optional(),
  SIGNING_SECRET: nonBlank
    .refine(
      (secret) => !isExample(secret),
      'is an example that everybody knows: set one of your own (openssl rand -hex 32), or none, and one is made and kept',
    )
    .optional(),
  SIGNING_SECRET_PREVIOUS: nonBlank.optional(),
  ...OIDC_FIELDS,
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  EGRESS_ALLOW: cidrs.default([]),
  CORS_ORIGINS: origins.default([]),
  TRUSTED_DOCUMENTS: z.enum(TRUST_MODES, `must be one of ${TRUST_MODES.join(', ')}`).default('off'),
  TRUST_PROXY: proxies.default([]),
  BODY_BUDGET_MB: integer(MIN_BODY_BUDGET_MB, 1_000_000, defaultBudgetMb()),
  RETENTION_DAYS: integer(1, 36_500, 30),
  LEDGER_RETENTION_MONTHS: wholeNumber(1, 1_200).optional(),
  SYNC_TIMEOUT_MS: integer(1, 86_400_000, 600_000),
  WORKER_CONCURRENCY: concurrency.default({}),
  NATIVE_CODECS: boolean.default(true),
  FILES_URL: url(['s3:'], 'must be an s3:// URL')
    .refine(
      (value) => !URL.canParse(value) || new URL(value).hostname !== '',
      'must name a bucket: s3://bucket or s3://bucket/prefix',
    )
    .optional(),
  S3_ENDPOINT: ownUrl.optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  WEBHOOK_RETRY_DELAYS_MS: delays.default([0, 30_000, 120_000, 600_000, 3_600_000]),
  SEARXNG_URL: httpUrl.optional(),
  BRAVE_API_KEY: z.string().optional(),
  TAVILY_API_KEY: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
});

type Environment = z.infer<typeof Environment>;

/** As OpenTelemetry has it: an address for traces alone, or the base address of all signals. */
function tracesUrlOf(env: Environment): string | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: base } = env;
  return own ?? (base === undefined ? null : `${base}/v1/traces`);
}

/** The names of all settings; `.env.example` describes each. */
export const SETTING_NAMES: readonly string[] = ['ENV_FILE', ...Object.keys(Environment.shape)];

/** An empty variable counts as unset, except where emptiness is a mistake that would weaken the installation. */
const EMPTY_IS_A_FAULT = new Set(['SIGNING_SECRET', 'SIGNING_SECRET_PREVIOUS']);

function relationFaults(env: Partial<Environment>): string[] {
  const faults: string[] = [];
  if (env.DATABASE_URL !== undefined && env.PUBLIC_URL === undefined)
    faults.push('PUBLIC_URL: is required with DATABASE_URL');
  const sasl = [env.KAFKA_SASL_MECHANISM, env.KAFKA_SASL_USERNAME, env.KAFKA_SASL_PASSWORD];
  if (sasl.includes(undefined) && sasl.some((value) => value !== undefined)) {
    faults.push('KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD with it');
  }
  const keys = [env.S3_ACCESS_KEY_ID, env.S3_SECRET_ACCESS_KEY];
  if (env.FILES_URL !== undefined && keys.includes(undefined))
    faults.push('FILES_URL: needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY with it');
  faults.push(...oidcFaults(env));
  return faults;
}

function kafkaOf(env: Environment): Config['kafka'] {
  if (env.KAFKA_BROKERS.length === 0) return null;
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
  } = env;
  return {
    brokers: env.KAFKA_BROKERS,
    prefix: env.KAFKA_PREFIX,
    ssl: env.KAFKA_SSL,
    sasl:
      mechanism && username !== undefined && password !== undefined
        ? { mechanism, username, password }
        : null,
  };
}

function s3Of(env: Environment): Config['files']['s3'] {
  const { FILES_URL: url, S3_REGION: region, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = env;
  if (url === undefined) return null;
  return {
    url,
    region,
    endpoint: S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`,
    accessKeyId: S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: S3_SECRET_ACCESS_KEY ?? '',
  };
}

function toConfig(env: Environment, variables: NodeJS.ProcessEnv): Config {
  const path = (value: string | undefined): string | null => (value === undefined ? null : resolve(value));
  return {
    role: env.ROLE,
    logLevel: env.LOG_LEVEL,
    dataDir: resolve(env.DATA_DIR),
    http: {
      port: env.PORT,
      host: env.HOST,
      publicUrl: env.PUBLIC_URL ?? `http://127.0.0.1:${env.PORT}`,
      isPublicUrlSet: env.PUBLIC_URL !== undefined,
      corsOrigins: env.CORS_ORIGINS,
      trustedDocuments: env.TRUSTED_DOCUMENTS,
      trustProxy: env.TRUST_PROXY,
      bodyBudgetBytes: env.BODY_BUDGET_MB * MB,
    },
    database: { url: env.DATABASE_URL ?? null, poolSize: env.DATABASE_POOL_SIZE },
    ledgerRetentionMonths: env.LEDGER_RETENTION_MONTHS ?? null,
    kafka: kafkaOf(env),
    providersFile: path(env.PROVIDERS_FILE),
    plansFile: path(env.PLANS_FILE),
    mcpFile: path(env.MCP_FILE),
    signing: { secret: env.SIGNING_SECRET ?? null, previous: env.SIGNING_SECRET_PREVIOUS ?? null },
    oidc: oidcOf(env),
    egress: { allow: env.EGRESS_ALLOW },
    files: { s3: s3Of(env) },
    jobs: {
      retentionDays: env.RETENTION_DAYS,
      syncTimeoutMs: env.SYNC_TIMEOUT_MS,
      concurrency: env.WORKER_CONCURRENCY,
    },
    nativeCodecs: env.NATIVE_CODECS,
    webhooks: { retryDelaysMs: env.WEBHOOK_RETRY_DELAYS_MS },
    search: {
      searxngUrl: env.SEARXNG_URL ?? null,
      braveApiKey: env.BRAVE_API_KEY ?? null,
      tavilyApiKey: env.TAVILY_API_KEY ?? null,
    },
    telemetry: { tracesUrl: tracesUrlOf(env) },
    variables,
  };
}

/**
 * Adds the settings of a file to the process's environment, where they are not set there already. Only the starts call it.
 * @param path default `ENV_FILE`, else `.env` in the working directory, which need not exist; `ENV_FILE` set to nothing reads no file
 * @throws ConfigError where a named file is not there, or one cannot be read
 */
export function readEnvFile(path: string | undefined = process.env['ENV_FILE']): void {
  if (path === '') return;
  try {
    process.loadEnvFile(path ?? '.env');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && path === undefined) return;
    throw new ConfigError([`${path ?? '.env'}: ${message}`]);
  }
}

/** What an environment names of the operator's own files, whatever else is wrong with it. */
export function operatorFiles(
  env: NodeJS.ProcessEnv = process.env,
): Pick<Config, 'plansFile' | 'providersFile' | 'mcpFile' | 'variables'> {
  const path = (value: string | undefined): string | null => (value?.trim() ? resolve(value) : null);
  return {
    plansFile: path(env['PLANS_FILE']),
    providersFile: path(env['PROVIDERS_FILE']),
    mcpFile: path(env['MCP_FILE']),
    variables: env,
  };
}

/**
 * Reads the configuration. No argument: the process's own environment (this file is its only reader).
 * @throws ConfigError with every fault at once; a fault never repeats the value, which may be a secret
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => value !== undefined && (value.trim() !== '' || EMPTY_IS_A_FAULT.has(name)),
    ),
  );
  const parsed = Environment.safeParse(given);
  const faults = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
  faults.push(...relationFaults(parsed.success ? parsed.data : (given as Partial<Environment>)));
  if (!parsed.success || faults.length > 0) throw new ConfigError([...new Set(faults)]);
  return toConfig(parsed.data, given);
}
