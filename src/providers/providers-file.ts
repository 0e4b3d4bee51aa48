import { z } from 'zod';
import { withoutEnding } from '../text/characters.js';
import { jsonFault } from '../text/stored-json.js';
import { MODEL_TYPES, TIERS, tiersOf } from '../contract/words.js';
import { isPriceTime, isUsd, PRICED_TOKENS, PRICED_UNITS } from '../pricing/index.js';
import { NATIVE_DIALECTS } from './dialect.types.js';
import type { NativeProvider } from './native/native-provider.types.js';
import { omittableFields } from './native/omitted-fields.js';
import { NATIVE_PROVIDERS, nativeProvider } from './native/registry.js';
import {
  nativeApiKey,
  nativeBaseUrl,
  nativeModels,
  upstreamsOfEnvironment,
} from './native/native-upstreams.js';
import { ProvidersFileError } from './providers.types.js';
import type { UpstreamSettings } from './upstream-settings.types.js';
import type { ModelFields } from './predictions/model-fields.js';
import type { ConfiguredModel, ProviderSettings } from './providers.types.js';

/** The provider id of the sandbox; no entry of the file may take it. */
export const SANDBOX_ID = 'sandbox';

const SUBSTITUTION = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

const id = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, dashes, underscores');
const modelId = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:@/-]{0,199}$/, 'must be a model id')
  .refine((value) => value.includes('/') && !value.endsWith('/'), 'must be of the form <provider>/<name>');
const twoDecimals = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine(
    (value) => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6,
    'must have at most two decimals',
  );
const milliseconds = z.number().int().min(1).max(3_600_000);
const httpUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    'must be an http or https URL',
  )
  .refine((value) => {
    if (!URL.canParse(value)) return true;
    const { username, password, hash } = new URL(value);
    return username === '' && password === '' && hash === '';
  }, 'must hold no user name, password or fragment: a key stands in apiKey or headers');

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const fieldName = z.string().min(1).max(100);
/** How an upstream's models take our parameters (docs/models.md). */
const fieldsOfEntry = {
  inputs: z
    .record(
      fieldName,
      z.union([
        fieldName,
        z.strictObject({ name: fieldName, values: z.record(z.string(), scalar) }),
        z.strictObject({ name: fieldName, min: z.number(), max: z.number() }),
      ]),
    )
    .optional(),
  fixed: z.record(fieldName, scalar).optional(),
  modes: z
    .record(
      z.string(),
      z.union([
        z.string().min(1),
        z.strictObject({ upstreamId: z.string().min(1), without: z.array(z.string()).optional() }),
      ]),
    )
    .optional(),
  tasks: z.array(z.string()).min(1).optional(),
};

/** Parameters that Penstock itself sets or interprets; an entry cannot allow them. */
const OWN_PARAMETERS = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'web_search',
]);
const allowedParameters = z
  .array(
    z
      .string()
      .regex(/^[A-Za-z][\w.-]{0,99}$/, 'must be the name of a request field')
      .refine((name) => !OWN_PARAMETERS.has(name), 'is set by Penstock itself'),
  )
  .max(100);

/** Parameters that an entry cannot omit: a request needs them, or could cost more than was reserved without them. */
const NEEDED = new Set([
  'model',
  'messages',
  'stream',
  'max_tokens',
  'max_completion_tokens',
  'input',
  'prompt',
  'file',
  'image',
  'mask',
]);
const omit = z
  .array(
    z
      .string()
      .regex(/^[A-Za-z][\w.-]{0,99}$/, 'must be the name of a request field')
      .refine((name) => !NEEDED.has(name), 'is needed in each request'),
  )
  .max(100);

const usd = z
  .union([z.string(), z.number()])
  .refine(isUsd, 'must be USD: a decimal of at most 1000000, with at most 12 decimals')
  .optional();
const usdOf = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, usd])) as Record<Name, typeof usd>;
/** What a model costs at its upstream, from when on (docs/models.md). */
const cost = z
  .array(
    z.strictObject({
      from: z.string().refine(isPriceTime, 'must be a day or a time in UTC, such as 2026-11-01').optional(),
      ...usdOf(PRICED_TOKENS),
      ...usdOf(PRICED_UNITS),
      longContext: z.strictObject({ above: z.number().int().min(1), ...usdOf(PRICED_TOKENS) }).optional(),
    }),
  )
  .max(1000)
  .superRefine((versions, context) => {
    const times = versions.map(({ from }) => (from === undefined ? null : Date.parse(from)));
    times.forEach((time, index) => {
      if (times.indexOf(time) !== index)
        context.addIssue({ code: 'custom', path: [index, 'from'], message: 'occurs twice' });
    });
  });

const model = z
  .strictObject({
    id: modelId,
    upstreamId: z.string().min(1).max(200),
    type: z.enum(MODEL_TYPES),
    tier: z.enum(TIERS),
    multiplier: twoDecimals.min(0.01).max(100).optional(),
    name: z.string().min(1).max(200).optional(),
    ownedBy: z.string().min(1).max(200).optional(),
    contextWindow: z.number().int().min(1).optional(),
    maxOutputTokens: z.number().int().min(1).optional(),
    imageTokens: z.number().int().min(0).optional(),
    outputCap: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
    modalities: z.strictObject({ input: z.array(z.string()), output: z.array(z.string()) }).optional(),
    price: z.strictObject({ amount: twoDecimals.optional(), credits: twoDecimals.optional() }).optional(),
    maxDurationSeconds: z.number().positive().optional(),
    cost: cost.optional(),
    allowedParameters: allowedParameters.optional(),
    prefill: z.boolean().optional(),
    background: z.boolean().optional(),
    omit: omit.optional(),
    ...fieldsOfEntry,
  })
  .refine(({ type, tier }) => tiersOf(type).includes(tier), {
    message: 'is not a tier of this type',
    path: ['tier'],
  })
  .refine((entry) => entry.inputs !== undefined || !(entry.fixed ?? entry.modes ?? entry.tasks), {
    message: 'fixed, modes and tasks need inputs',
    path: ['inputs'],
  })
  .refine((entry) => entry.type === 'chat' || entry.allowedParameters === undefined, {
    message: 'is only for chat models',
    path: ['allowedParameters'],
  })
  .refine((entry) => entry.type === 'chat' || entry.prefill === undefined, {
    message: 'belongs to chat models',
    path: ['prefill'],
  })
  .refine((entry) => entry.type === 'chat' || entry.background === undefined, {
    message: 'belongs to chat models',
    path: ['background'],
  });

const providerFields = z.strictObject({
  id: id.refine((value) => value !== SANDBOX_ID, 'is taken by the sandbox'),
  kind: z.enum(['openai-compatible', ...NATIVE_PROVIDERS.map(({ id: kind }) => kind)]),
  baseUrl: httpUrl.optional(),
  // Trims the value: a secret that was read from a file often ends with a line break.
  apiKey: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]*$/, 'must be printable characters without blanks')
    .optional(),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().regex(/^[\t\x20-\x7e]*$/)).default({}),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(5000),
      firstByteMs: milliseconds.default(60_000),
      chunkMs: milliseconds.default(60_000),
      generationMs: milliseconds.default(1_800_000),
      pollMs: milliseconds.default(2000),
    })
    .prefault({}),
  retry: z
    .strictObject({
      retries: z.number().int().min(0).max(10).default(2),
      backoffMs: z.number().int().min(0).max(60_000).default(200),
    })
    .prefault({}),
  allowedParameters: allowedParameters.default([]),
  omit: omit.default([]),
  dialects: z.array(z.enum(NATIVE_DIALECTS)).max(NATIVE_DIALECTS.length).default([]),
  allowedTools: z
    .array(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be the type of a tool'))
    .max(50)
    .default([]),
  models: z.array(model).default([]),
});

const provider = providerFields.superRefine(({ kind, dialects, models }, context) => {
  if ([...dialects, ...(nativeProvider(kind)?.dialects ?? [])].includes('responses')) return;
  models.forEach(({ background }, index) => {
    if (background === true)
      context.addIssue({
        code: 'custom',
        path: ['models', index, 'background'],
        message: 'needs a provider that speaks the dialect responses',
      });
  });
});

/** Further names of models; `*` at the end matches any rest. */
const alias = z
  .string()
  .regex(/^[\w.:@/-]{0,199}\*?$/, 'must be a name, with at most one *, at its end')
  .min(1);

const file = z.strictObject({
  providers: z.array(provider).default([]),
  defaults: z.partialRecord(z.enum(MODEL_TYPES), modelId).default({}),
  fallbacks: z.record(modelId, z.array(modelId).max(10)).default({}),
  aliases: z.record(alias, modelId).default({}),
  continueStreams: z.boolean().default(false),
  sandbox: z.boolean().default(true),
});

type FileEntry = z.infer<typeof file>;

export interface ProvidersFile {
  settings: ProviderSettings;
  upstreams: UpstreamSettings[];
}

/** Substitutes `${NAME}` in every string; a name without a value is an error. */
function substitute(
  value: unknown,
  context: { env: Readonly<Record<string, string | undefined>>; faults: string[] },
): unknown {
  if (typeof value === 'string') {
    return value.replace(SUBSTITUTION, (whole, name: string) => {
      const found = context.env[name];
      if (found === undefined) context.faults.push(`\${${name}} is not set`);
      return found ?? whole;
    });
  }
  if (Array.isArray(value)) return value.map((item) => substitute(item, context));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, context)]));
}

function fieldsOf({ inputs, fixed, modes, tasks }: z.infer<typeof model>): ModelFields | undefined {
  return inputs === undefined ? undefined : { inputs, fixed, modes, tasks };
}

function configured(entry: FileEntry): ConfiguredModel[] {
  return entry.providers.flatMap(({ id: providerId, kind, models, allowedParameters: allowed }) =>
    models.map((item) => ({
      ...item,
      providerId,
      outputCap: item.outputCap ?? nativeProvider(kind)?.outputCap ?? 'max_tokens',
      multiplier: item.multiplier,
      name: item.name,
      ownedBy: item.ownedBy,
      contextWindow: item.contextWindow,
      maxOutputTokens: item.maxOutputTokens,
      imageTokens: item.imageTokens,
      modalities: item.modalities,
      maxDurationSeconds: item.maxDurationSeconds,
      cost: item.cost,
      prefill: item.prefill ?? false,
      background: item.background ?? false,
      allowedParameters: [...allowed, ...(item.allowedParameters ?? [])],
      price: item.price
        ? {
            ...(item.price.amount === undefined ? {} : { amount: item.price.amount }),
            ...(item.price.credits === undefined ? {} : { credits: item.price.credits }),
          }
        : undefined,
    })),
  );
}

/** Finds names that are given twice. (The catalogue checks whether a default exists.) */
function duplicates(entry: FileEntry): string[] {
  const seen = new Set<string>();
  const names = [
    ...entry.providers.map((item) => `provider ${item.id}`),
    ...entry.providers.flatMap((item) => item.models.map((one) => `model ${one.id}`)),
  ];
  return names.filter((name) => seen.size === seen.add(name).size).map((name) => `${name} occurs twice`);
}

/** The providers without a file and without keys in the environment: only the sandbox. */
export const NO_PROVIDERS: ProvidersFile = {
  settings: { sandbox: true, models: [], defaults: {}, fallbacks: {} },
  upstreams: [],
};

type Variables = Readonly<Record<string, string | undefined>>;

/** The providers without a file: the sandbox, and those whose keys are in the environment. */
export function providersOfEnvironment(env: Variables): ProvidersFile {
  return withEnvironment(NO_PROVIDERS, env);
}

/** Adds native providers whose keys are in the environment and that no entry names. */
function withEnvironment({ settings, upstreams }: ProvidersFile, env: Variables): ProvidersFile {
  const named = new Set(upstreams.flatMap(({ id, kind }) => [id, kind]));
  const all = [...upstreams, ...upstreamsOfEnvironment(env, named)];
  return { settings: { ...settings, natives: nativeModels(all) }, upstreams: all };
}

/** Checks `omit` for native providers: only fields that Penstock sets can be omitted. */
function faultsOfOmit(
  { id: providerId, omit: all, models }: FileEntry['providers'][number],
  native: NativeProvider,
): string[] {
  const entries = [
    { owner: `provider ${providerId}`, omitted: all, types: MODEL_TYPES },
    ...models.map((one) => ({ owner: `model ${one.id}`, omitted: one.omit ?? [], types: [one.type] })),
  ];
  return entries.flatMap(({ owner, omitted, types }) => {
    const known = new Set(types.flatMap((type) => omittableFields(native, type)));
    return omitted
      .filter((name) => !known.has(name))
      .map((name) => `${owner}: omit cannot name ${name}: Penstock does not send it`);
  });
}

/** Completes an entry: the usual address of a native kind, and its key from the environment. */
function upstreamOf(
  item: FileEntry['providers'][number],
  { env, faults }: { env: Variables; faults: string[] },
): UpstreamSettings {
  const { id: providerId, kind, headers, timeouts, retry } = item;
  const native = nativeProvider(kind);
  const baseUrl = item.baseUrl ?? (native === null ? null : nativeBaseUrl(native, env));
  if (baseUrl === null) faults.push(`provider ${providerId}: baseUrl is required`);
  else if (native !== null && baseUrl.includes('?'))
    faults.push(`provider ${providerId}: baseUrl of this kind takes no query`);
  const opens = [item, ...item.models].some((entry) => (entry.allowedParameters ?? []).length > 0);
  if (opens && native !== null && !native.convention)
    faults.push(`provider ${providerId}: allowedParameters are for kinds of the common convention`);
  if (native !== null && !native.convention) faults.push(...faultsOfOmit(item, native));
  if (item.dialects.length > 0 && native !== null)
    faults.push(`provider ${providerId}: dialects are for openai-compatible: its kind says which it speaks`);
  const apiKey = item.apiKey ?? (native === null ? undefined : nativeApiKey(native, env));
  const aws = native?.credentials?.(env);
  if (native !== null && (apiKey ?? '') === '') faults.push(`provider ${providerId}: apiKey is required`);
  return {
    id: providerId,
    kind,
    baseUrl: withoutEnding(baseUrl ?? '', '/'),
    apiKey,
    headers,
    timeouts,
    retry,
    allowedParameters: item.allowedParameters,
    dialects: item.dialects,
    allowedTools: item.allowedTools,
    omit: Object.fromEntries([
      ['', item.omit],
      ...item.models.map((entry) => [entry.upstreamId, [...item.omit, ...(entry.omit ?? [])]]),
    ]),
    fields: Object.fromEntries(
      item.models.flatMap((entry) => {
        const found = fieldsOf(entry);
        return found === undefined ? [] : [[entry.upstreamId, found]];
      }),
    ),
    ...(aws === undefined ? {} : { aws }),
  };
}

/**
 * Reads PROVIDERS_FILE's text.
 * @throws ProvidersFileError with every fault
 */
export function parseProvidersFile(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): ProvidersFile {
  let json: unknown;
  try {
    // Editors on Windows put a mark at the beginning.
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new ProvidersFileError([`is not JSON: ${jsonFault(error as Error, text)}`]);
  }
  const faults: string[] = [];
  const result = file.safeParse(substitute(json, { env, faults }));
  if (!result.success) {
    faults.push(...result.error.issues.map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`));
    throw new ProvidersFileError(faults);
  }
  faults.push(...duplicates(result.data));
  const { sandbox, defaults, fallbacks, continueStreams, aliases } = result.data;
  const upstreams = result.data.providers.map((item) => upstreamOf(item, { env, faults }));
  if (faults.length > 0) throw new ProvidersFileError(faults);
  const models = configured(result.data);
  const settings = { sandbox, models, defaults, fallbacks, continueStreams, aliases };
  return withEnvironment({ settings, upstreams }, env);
}
