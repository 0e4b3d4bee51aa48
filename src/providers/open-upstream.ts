import type { Egress } from '../egress/index.js';
import type { NativeProvider } from './native/native-provider.types.js';
import { nativeProvider } from './native/registry.js';
import { openSdkUpstream } from './native/open-sdk-upstream.js';
import { createOutboundFetch } from './native/outbound-fetch.js';
import { withFunctions } from './legacy-functions.js';
import { createProviderMedia, keyHeaderOf } from './predictions/provider-media.js';
import type { UpstreamSettings } from './upstream-settings.types.js';
import type { Provider } from './providers.types.js';
import { createOpenAiCompatibleChat } from './openai-compatible/openai-compatible.js';
import { createOpenAiCompatibleEmbedding } from './openai-compatible/openai-embedding.js';
import { createOpenAiCompatibleImageEditor } from './openai-compatible/openai-image-edit.js';
import { createOpenAiCompatibleImage } from './openai-compatible/openai-image.js';
import { createModeration } from './openai-compatible/openai-moderation.js';
import { createOpenAiCompatibleRerank } from './openai-compatible/openai-rerank.js';
import { createOpenAiCompatibleSpeech } from './openai-compatible/openai-speech.js';
import { dialectsOf } from './openai-compatible/dialect-upstream.js';
import { RefusedFields } from './openai-compatible/optional-fields.js';
import { createOpenAiCompatibleTranscription } from './openai-compatible/openai-transcription.js';
import { Transport } from './openai-compatible/transport.js';

export interface OpenProvider extends Provider {
  /** Closes the provider after the calls in flight have ended, because another has replaced it. */
  retire(): Promise<void>;
}

/** Header values shorter than this are not treated as secrets: they can occur in any sentence. */
const SHORT_VALUE = 8;

/** Keys, and headers that contain keys. */
function keysOf({ apiKey, aws, headers }: UpstreamSettings): string[] {
  const values = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
  const { secretAccessKey = '', sessionToken = '' } = aws ?? {};
  const all = [apiKey ?? '', secretAccessKey, sessionToken, ...values.map(([, value]) => value)];
  return all.filter((value) => value !== '');
}

/** Secrets that must never appear in an error: keys, headers and parts of the address that may contain keys, and the upstream's host. */
function secretsOf(upstream: UpstreamSettings): string[] {
  const { baseUrl, headers } = upstream;
  const values = Object.values(headers).filter((value) => value.length >= SHORT_VALUE);
  const address = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  const parts =
    address === null ? [] : [...address.searchParams.values(), address.password, portedHost(address)];
  return [...new Set([...keysOf(upstream), ...values, ...parts])].filter((value) => value !== '');
}

const portedHost = ({ host, port }: URL): string => (port === '' ? '' : host);

/** Opens one upstream of the configuration; connections are made when it is first called. */
export function openUpstream(upstream: UpstreamSettings, egress: Egress | undefined): OpenProvider {
  const native = nativeProvider(upstream.kind);
  const secrets = secretsOf(upstream);
  const { omit = {} } = upstream;
  const refused = new RefusedFields((modelId) => omit[modelId] ?? omit[''] ?? []);
  const made =
    native?.package === undefined
      ? null
      : openSdkUpstream(
          upstream,
          { ...native, package: native.package },
          { egress, secrets, keys: keysOf(upstream), refused },
        );
  if (made !== null && native?.convention === false) return made;
  return openConvention(upstream, native, { egress, secrets, made, refused });
}

/** Opens an OpenAI-compatible upstream. If it also has a provider package, the package makes its images. */
function openConvention(
  upstream: UpstreamSettings,
  native: NativeProvider | null,
  {
    egress,
    secrets,
    made,
    refused,
  }: {
    egress: Egress | undefined;
    secrets: readonly string[];
    made: OpenProvider | null;
    refused: RefusedFields;
  },
): OpenProvider {
  const { id, fields } = upstream;
  const dialect = native?.chat?.dialect;
  const headers = keyHeaderOf(upstream, native);
  const outbound = createOutboundFetch({ upstream, native, egress });
  const transport = new Transport({
    baseUrl: upstream.baseUrl,
    headers: { ...headers, ...upstream.headers },
    timeouts: upstream.timeouts,
    secrets,
  });
  const parts = [transport, outbound, ...(made === null ? [] : [made])];
  return {
    id,
    retry: upstream.retry,
    chat:
      dialect === undefined
        ? createOpenAiCompatibleChat(transport, { refused })
        : withFunctions(createOpenAiCompatibleChat(transport, { dialect, refused })),
    dialects: dialectsOf({ transport, refused }, [...(native?.dialects ?? []), ...(upstream.dialects ?? [])]),
    allowedTools: upstream.allowedTools ?? [],
    embedding: (modelId) => createOpenAiCompatibleEmbedding({ transport, providerId: id, modelId, refused }),
    takesTokenIds: native === null,
    rerank: (modelId) => createOpenAiCompatibleRerank({ transport, providerId: id, modelId, refused }),
    ...(native?.moderates ? { moderate: createModeration(transport) } : {}),
    image_edit: (modelId) =>
      createOpenAiCompatibleImageEditor(
        { transport, providerId: id, modelId, egress, refused },
        fields[modelId]?.inputs ?? {},
      ),
    image:
      made?.image ??
      ((modelId) => createOpenAiCompatibleImage({ transport, providerId: id, modelId, egress, refused })),
    tts: (modelId) => createOpenAiCompatibleSpeech({ transport, providerId: id, modelId, refused }),
    stt: (modelId) => createOpenAiCompatibleTranscription({ transport, modelId, refused }),
    ...createProviderMedia({ upstream, native, outbound, headers, secrets }),
    close: async () => void (await Promise.all(parts.map((part) => part.close()))),
    retire: async () => void (await Promise.all(parts.map((part) => part.retire()))),
  };
}
