import type { Egress } from '../egress/index.js';
import { KINDS } from './native/kinds.js';
import { mistralDialect } from './native/mistral-dialect.js';
import { openSdkUpstream, OWN_IMAGES } from './native/open-sdk-upstream.js';
import { createOutboundFetch } from './native/outbound-fetch.js';
import { withFunctions } from './legacy-functions.js';
import { createProviderMedia, keyHeaderOf } from './predictions/provider-media.js';
import type { UpstreamSettings } from './upstream-settings.types.js';
import type { Provider } from './providers.types.js';
import { createOpenAiCompatibleChat } from './openai-compatible/openai-compatible.js';
import { createOpenAiCompatibleEmbedding } from './openai-compatible/openai-embedding.js';
import { createOpenAiCompatibleImageEditor } from './openai-compatible/openai-image-edit.js';
import { createOpenAiCompatibleImage } from './openai-compatible/openai-image.js';
import { createOpenAiCompatibleSpeech } from './openai-compatible/openai-speech.js';
import { RefusedFields } from './openai-compatible/optional-fields.js';
import { createOpenAiCompatibleTranscription } from './openai-compatible/openai-transcription.js';
import { Transport } from './openai-compatible/transport.js';

export interface OpenProvider extends Provider {
  /** Lets calls in flight end: another provider has taken this one's place. */
  retire(): Promise<void>;
}

/** Words of other headers that may stand in any sentence. */
const SHORT_VALUE = 8;

/** Keys, and headers that carry any. */
function keysOf({ apiKey, aws, headers }: UpstreamSettings): string[] {
  const values = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
  const { secretAccessKey = '', sessionToken = '' } = aws ?? {};
  const all = [apiKey ?? '', secretAccessKey, sessionToken, ...values.map(([, value]) => value)];
  return all.filter((value) => value !== '');
}

/** What must never show in an error: keys, headers and parts of the address that may carry any, and where the upstream is. */
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
  const { kind } = upstream;
  const secrets = secretsOf(upstream);
  if (kind !== 'openai-compatible' && !KINDS[kind].convention)
    return openSdkUpstream({ ...upstream, kind }, { egress, secrets, keys: keysOf(upstream) });
  return openConvention(upstream, { egress, secrets });
}

/** An upstream of the common convention; what it has ways of its own for goes over those. */
function openConvention(
  upstream: UpstreamSettings,
  { egress, secrets }: { egress: Egress | undefined; secrets: readonly string[] },
): OpenProvider {
  const { id, kind, fields, omit = {} } = upstream;
  const refused = new RefusedFields((modelId) => omit[modelId] ?? omit[''] ?? []);
  const headers = keyHeaderOf(upstream);
  const own = kind !== 'openai-compatible' && OWN_IMAGES.has(kind);
  const images = own
    ? openSdkUpstream({ ...upstream, kind }, { egress, secrets, keys: keysOf(upstream) })
    : null;
  const outbound = createOutboundFetch({ upstream, egress, builtIn: [] });
  const transport = new Transport({
    baseUrl: upstream.baseUrl,
    headers: { ...headers, ...upstream.headers },
    timeouts: upstream.timeouts,
    secrets,
  });
  const parts = [transport, outbound, ...(images === null ? [] : [images])];
  return {
    id,
    retry: upstream.retry,
    // Mistral's API has never known `functions`.
    chat:
      kind === 'mistral'
        ? withFunctions(createOpenAiCompatibleChat(transport, { dialect: mistralDialect, refused }))
        : createOpenAiCompatibleChat(transport, { refused }),
    embedding: (modelId) => createOpenAiCompatibleEmbedding({ transport, providerId: id, modelId, refused }),
    edit: (modelId) =>
      createOpenAiCompatibleImageEditor(
        { transport, providerId: id, modelId, egress, refused },
        fields[modelId]?.inputs ?? {},
      ),
    image:
      images?.image ??
      ((modelId) => createOpenAiCompatibleImage({ transport, providerId: id, modelId, egress, refused })),
    speech: (modelId) => createOpenAiCompatibleSpeech({ transport, providerId: id, modelId, refused }),
    transcription: (modelId) => createOpenAiCompatibleTranscription({ transport, modelId, refused }),
    ...createProviderMedia({ upstream, outbound, headers, secrets }),
    close: async () => void (await Promise.all(parts.map((part) => part.close()))),
    retire: async () => void (await Promise.all(parts.map((part) => part.retire()))),
  };
}
