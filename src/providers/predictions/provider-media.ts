import { createElevenLabsMusic } from '../native/elevenlabs-music.js';
import type { NativeKind } from '../native/kinds.js';
import { KINDS } from '../native/kinds.js';
import type { OutboundFetch } from '../native/outbound-fetch.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { Provider } from '../providers.types.js';
import { createGoogleVideo } from '../videos/google-video.js';
import { createLumaVideo } from '../videos/luma-video.js';
import { createOpenAiVideo } from '../videos/openai-video.js';
import type { VideoUpstream } from '../videos/video-upstream.js';
import { createXaiVideo } from '../videos/xai-video.js';
import type { VideoModel } from '../video.types.js';
import { createApiClient } from './api-client.js';
import type { ApiClient } from './api-client.js';
import { FAL_FIELDS } from './fal-models.js';
import { createFal } from './fal.js';
import type { KnownFields, ModelFields } from './model-fields.js';
import { createPredictionEditor } from './prediction-edit.js';
import { createPredictionMusic } from './prediction-music.js';
import { createPredictionVideo } from './prediction-video.js';
import type { PredictionModel, Predictor } from './predictions.types.js';
import { REPLICATE_FIELDS } from './replicate-models.js';
import { createReplicate } from './replicate.js';

export interface ProviderMediaOptions {
  upstream: UpstreamSettings;
  outbound: OutboundFetch;
  /** The key, as the provider wants it. */
  headers: Record<string, string>;
  secrets: readonly string[];
}

/** What a provider makes that no package of its speaks: videos, music, edits. */
export type ProviderMedia = Pick<Provider, 'video' | 'music' | 'edit'>;

const FAL = 'https://fal.run';
const FAL_QUEUE = 'https://queue.fal.run';
/** A model of which nothing is known takes words alone. */
const WORDS_ALONE: ModelFields = { inputs: { prompt: 'prompt' } };

type MakeVideo = (upstream: VideoUpstream) => VideoModel;

const VIDEOS: Partial<Record<UpstreamSettings['kind'], MakeVideo>> = {
  openai: createOpenAiVideo,
  azure: createOpenAiVideo,
  'openai-compatible': createOpenAiVideo,
  google: createGoogleVideo,
  luma: createLumaVideo,
  xai: createXaiVideo,
};

/** The header that carries a provider's key. */
export function keyHeaderOf({ apiKey, kind }: UpstreamSettings): Record<string, string> {
  if (apiKey === undefined || apiKey === '') return {};
  const own = kind === 'openai-compatible' ? undefined : KINDS[kind as NativeKind].keyHeader;
  const { name, prefix } = own ?? { name: 'authorization', prefix: 'Bearer ' };
  return { [name]: prefix + apiKey };
}

/** A provider's own API over its connections, for what no package of its speaks. */
export function createProviderApi({ upstream, outbound, headers, secrets }: ProviderMediaOptions): ApiClient {
  const queue = upstream.kind === 'fal' && upstream.baseUrl === FAL;
  return createApiClient({
    fetch: outbound.fetch,
    baseUrl: queue ? FAL_QUEUE : upstream.baseUrl,
    headers: { ...headers, ...upstream.headers },
    secrets,
    ...(upstream.kind === 'fal' ? { alsoOwn: [FAL_QUEUE] } : {}),
  });
}

function predictorOf(
  api: ApiClient,
  { upstream: { kind, timeouts }, secrets }: ProviderMediaOptions,
): { predictor: Predictor; known: KnownFields } | null {
  if (kind === 'fal') return { predictor: createFal(api, timeouts), known: FAL_FIELDS };
  if (kind !== 'replicate') return null;
  return { predictor: createReplicate(api, { limits: timeouts, secrets }), known: REPLICATE_FIELDS };
}

/** Videos, music and edits of one upstream; empty where its kind has none. */
export function createProviderMedia(options: ProviderMediaOptions): ProviderMedia {
  const { upstream, outbound, secrets } = options;
  const { id: providerId, kind, timeouts: limits, fields, publicFiles = false } = upstream;
  const api = createProviderApi(options);
  const predicted = predictorOf(api, options);
  if (predicted !== null) {
    const { predictor, known } = predicted;
    const modelOf = (modelId: string): PredictionModel => ({
      predictor,
      providerId,
      modelId,
      fields: fields[modelId] ?? known[modelId] ?? WORDS_ALONE,
    });
    return {
      video: (modelId) => heldVideo(createPredictionVideo(modelOf(modelId)), options),
      music: (modelId) => {
        const music = createPredictionMusic(modelOf(modelId));
        return { ...music, generate: (call) => outbound.during(() => music.generate(call)) };
      },
      edit: (modelId) => {
        const editor = createPredictionEditor(modelOf(modelId));
        return { ...editor, edit: (call) => outbound.during(() => editor.edit(call)) };
      },
    };
  }
  const make = VIDEOS[kind];
  return {
    ...(make === undefined
      ? {}
      : {
          video: (modelId: string) =>
            heldVideo(make({ api, limits, providerId, modelId, secrets, publicFiles }), options),
        }),
    ...(kind === 'elevenlabs' ? { music: (modelId: string) => createElevenLabsMusic(api, modelId) } : {}),
  };
}

/** Orders are asked about for minutes: a reload meanwhile must not cut them off. */
function heldVideo(video: VideoModel, { outbound }: ProviderMediaOptions): VideoModel {
  return { ...video, doGenerate: (call) => outbound.during(() => video.doGenerate(call)) };
}
