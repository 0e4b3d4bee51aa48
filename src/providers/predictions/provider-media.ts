import type { NativeProvider } from '../native/native-provider.types.js';
import type { OutboundFetch } from '../native/outbound-fetch.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { Provider } from '../providers.types.js';
import { createOpenAiVideo } from '../openai-compatible/openai-video.js';
import type { VideoModel } from '../video.types.js';
import { createApiClient } from './api-client.js';
import type { ApiClient } from './api-client.js';
import type { ModelFields } from './model-fields.js';
import { createPredictionEditor } from './prediction-edit.js';
import { createPredictionMusic } from './prediction-music.js';
import { createPredictionVideo } from './prediction-video.js';
import type { PredictionModel } from './predictions.types.js';

export interface ProviderMediaOptions {
  upstream: UpstreamSettings;
  /** The provider's definition; null for an upstream of the common convention. */
  native: NativeProvider | null;
  outbound: OutboundFetch;
  /** The key, as the provider wants it. */
  headers: Record<string, string>;
  secrets: readonly string[];
}

/** What a provider makes without a package: videos, music, edits. */
export type ProviderMedia = Pick<Provider, 'video' | 'music' | 'image_edit'>;

/** An unknown model takes only a prompt. */
const WORDS_ALONE: ModelFields = { inputs: { prompt: 'prompt' } };

/** The header that carries a provider's key. */
export function keyHeaderOf(
  { apiKey }: UpstreamSettings,
  native: NativeProvider | null,
): Record<string, string> {
  if (apiKey === undefined || apiKey === '') return {};
  const { name, prefix } = native?.keyHeader ?? { name: 'authorization', prefix: 'Bearer ' };
  return { [name]: prefix + apiKey };
}

/** A client for a provider's own API over its connections, for what its package does not cover. */
export function createProviderApi(options: ProviderMediaOptions): ApiClient {
  const { upstream, native, outbound, headers, secrets } = options;
  return createApiClient({
    fetch: outbound.fetch,
    baseUrl: upstream.baseUrl,
    headers: { ...headers, ...upstream.headers },
    secrets,
    ...native?.ownApi?.(upstream.baseUrl),
  });
}

/** Videos, music and edits of one upstream; empty where its kind has none. */
export function createProviderMedia(options: ProviderMediaOptions): ProviderMedia {
  const { upstream, native, outbound, secrets } = options;
  const { id: providerId, timeouts: limits, fields, publicFiles = false } = upstream;
  const api = createProviderApi(options);
  const { predictions, music } = native ?? {};
  if (predictions !== undefined) {
    const predictor = predictions.open(api, { limits, secrets });
    const { known } = predictions;
    const modelOf = (modelId: string): PredictionModel => ({
      predictor,
      providerId,
      modelId,
      fields: fields[modelId] ?? known[modelId] ?? WORDS_ALONE,
    });
    return {
      video: (modelId) => heldVideo(createPredictionVideo(modelOf(modelId)), options),
      music: (modelId) => {
        const made = createPredictionMusic(modelOf(modelId));
        return { ...made, generate: (call) => outbound.during(() => made.generate(call)) };
      },
      image_edit: (modelId) => {
        const editor = createPredictionEditor(modelOf(modelId));
        return { ...editor, edit: (call) => outbound.during(() => editor.edit(call)) };
      },
    };
  }
  const make = native === null ? createOpenAiVideo : native.video;
  return {
    ...(make === undefined
      ? {}
      : {
          video: (modelId: string) =>
            heldVideo(make({ api, limits, providerId, modelId, secrets, publicFiles }), options),
        }),
    ...(music === undefined ? {} : { music: (modelId: string) => music(api, modelId) }),
  };
}

/** Keeps the connections while an order is polled: a reload must not cut it off. */
function heldVideo(video: VideoModel, { outbound }: ProviderMediaOptions): VideoModel {
  return { ...video, doGenerate: (call) => outbound.during(() => video.doGenerate(call)) };
}
