import { withoutEnding } from '../../text/characters.js';
import { ProvidersFileError } from '../providers.types.js';
import type { NativeModels } from '../providers.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { NativeProvider, Variables } from './native-provider.types.js';
import { NATIVE_PROVIDERS, nativeProvider } from './registry.js';

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

/** `OPENAI_BASE_URL`, `AMAZON_BEDROCK_BASE_URL` …: another address of the same provider (a gateway, a region). */
const baseUrlVariable = ({ id }: NativeProvider): string =>
  `${id.toUpperCase().replaceAll('-', '_')}_BASE_URL`;

/** A provider's address if no entry has one. */
export function nativeBaseUrl(native: NativeProvider, env: Variables): string | null {
  const other = env[baseUrlVariable(native)];
  return isSet(other) ? withoutEnding(other.trim(), '/') : native.baseUrl(env);
}

/** A provider's key if no entry has one. */
export function nativeApiKey({ variables: [name = ''] }: NativeProvider, env: Variables): string | undefined {
  const value = env[name];
  return isSet(value) ? value.trim() : undefined;
}

/**
 * Providers that the environment enables and the file does not name, in the order of {@link NATIVE_PROVIDERS}.
 * @throws ProvidersFileError if an address is invalid
 */
export function upstreamsOfEnvironment(env: Variables, named: ReadonlySet<string>): UpstreamSettings[] {
  return NATIVE_PROVIDERS.flatMap((native) => {
    const { id, variables } = native;
    const baseUrl = nativeBaseUrl(native, env);
    const elsewhere = isSet(env[baseUrlVariable(native)]);
    // With an address of its own only the key is needed.
    const needed = elsewhere ? variables.slice(0, 1) : variables;
    if (named.has(id) || baseUrl === null || !needed.every((name) => isSet(env[name]))) return [];
    if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
      throw new ProvidersFileError([`${baseUrlVariable(native)} must be an http or https URL`]);
    const aws = native.credentials?.(env);
    const apiKey = nativeApiKey(native, env);
    return [{ id, kind: id, baseUrl, apiKey, ...DEFAULTS, ...(aws === undefined ? {} : { aws }) }];
  });
}

/** The known models that each upstream makes available. If two offer the same model, the first one gets it. */
export function nativeModels(upstreams: readonly UpstreamSettings[]): NativeModels[] {
  return upstreams.flatMap(({ id, kind, allowedParameters }) => {
    const native = nativeProvider(kind);
    if (native === null) return [];
    const { types, outputCap, aliases = {} } = native;
    return [{ providerId: id, prefix: kind, types, outputCap, aliases, allowedParameters }];
  });
}
