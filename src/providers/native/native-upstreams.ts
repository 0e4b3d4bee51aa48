import { withoutEnding } from '../../text/characters.js';
import { ProvidersFileError } from '../providers.types.js';
import type { NativeModels } from '../providers.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { baseUrlVariable, KINDS, NATIVE_KINDS } from './kinds.js';
import type { NativeKind } from './kinds.js';

type Variables = Readonly<Record<string, string | undefined>>;

const DEFAULTS: Pick<UpstreamSettings, 'headers' | 'timeouts' | 'retry' | 'fields' | 'allowedParameters'> = {
  headers: {},
  timeouts: {
    connectMs: 5000,
    firstByteMs: 60_000,
    chunkMs: 60_000,
    generationMs: 1_800_000,
    pollMs: 2000,
  },
  fields: {},
  allowedParameters: [],
  retry: { retries: 2, backoffMs: 200 },
};

const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

/** The address of a kind where no entry names one. */
export function nativeBaseUrl(kind: NativeKind, env: Variables): string | null {
  const other = env[baseUrlVariable(kind)];
  return isSet(other) ? withoutEnding(other.trim(), '/') : KINDS[kind].baseUrl(env);
}

/** The key of a kind where no entry names one. */
export function nativeApiKey(kind: NativeKind, env: Variables): string | undefined {
  const value = env[KINDS[kind].variables[0] as string];
  return isSet(value) ? value.trim() : undefined;
}

/** AWS signs with more than one value; absent where the kind is another or the environment has none. */
export function awsCredentials(env: Variables): UpstreamSettings['aws'] {
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = env;
  const session = env['AWS_SESSION_TOKEN'];
  if (!isSet(id) || !isSet(secret)) return undefined;
  return {
    region: isSet(region) ? region : 'us-east-1',
    accessKeyId: id,
    secretAccessKey: secret,
    ...(isSet(session) ? { sessionToken: session } : {}),
  };
}

/**
 * Kinds that the environment switches on and the file does not name already, in {@link NATIVE_KINDS}' order.
 * @throws ProvidersFileError where an address is none
 */
export function upstreamsOfEnvironment(env: Variables, named: ReadonlySet<string>): UpstreamSettings[] {
  return NATIVE_KINDS.flatMap((kind) => {
    const baseUrl = nativeBaseUrl(kind, env);
    const elsewhere = isSet(env[baseUrlVariable(kind)]);
    // With an address of its own only the key is needed.
    const needed = elsewhere ? KINDS[kind].variables.slice(0, 1) : KINDS[kind].variables;
    if (named.has(kind) || baseUrl === null || !needed.every((name) => isSet(env[name]))) return [];
    if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
      throw new ProvidersFileError([`${baseUrlVariable(kind)} must be an http or https URL`]);
    const aws = kind === 'amazon-bedrock' ? awsCredentials(env) : undefined;
    const apiKey = nativeApiKey(kind, env);
    return [{ id: kind, kind, baseUrl, apiKey, ...DEFAULTS, ...(aws === undefined ? {} : { aws }) }];
  });
}

/** What each upstream makes available of the known models; of two that offer the same, the first has it. */
export function nativeModels(upstreams: readonly UpstreamSettings[]): NativeModels[] {
  return upstreams.flatMap(({ id, kind, allowedParameters }) => {
    if (kind === 'openai-compatible') return [];
    const { types, outputCap, aliases = {} } = KINDS[kind];
    return [{ providerId: id, prefix: kind, types, outputCap, aliases, allowedParameters }];
  });
}
