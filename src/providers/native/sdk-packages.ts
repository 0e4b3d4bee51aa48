import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { withEndedStreams } from './ended-streams.js';
import type { NativeKind } from './kinds.js';
import { withoutSilentEvents } from './silent-events.js';

/** What a provider package makes, as far as we use it. */
export interface SdkProvider {
  languageModel?(modelId: string): LanguageModelV4;
  embeddingModel?(modelId: string): EmbeddingModelV4;
  imageModel?(modelId: string): ImageModelV4;
  speechModel?(modelId: string): SpeechModelV4;
  transcriptionModel?(modelId: string): TranscriptionModelV4;
}

interface Settings {
  apiKey: string;
  baseURL: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

type Load = (settings: Settings, upstream: UpstreamSettings) => Promise<SdkProvider>;

/** Each package is loaded when its upstream is first called: a start pays for none of them. */
const PACKAGES: Partial<Record<NativeKind, Load>> = {
  anthropic: async ({ fetch, ...settings }) =>
    (await import('@ai-sdk/anthropic')).createAnthropic({ ...settings, fetch: withEndedStreams(fetch) }),
  google: async (settings) => (await import('@ai-sdk/google')).createGoogle(settings),
  cohere: async (settings) => (await import('@ai-sdk/cohere')).createCohere(settings),
  replicate: async ({ apiKey, ...settings }) =>
    (await import('@ai-sdk/replicate')).createReplicate({ ...settings, apiToken: apiKey }),
  fal: async (settings) => {
    const fal = (await import('@ai-sdk/fal')).createFal(settings);
    return {
      imageModel: fal.imageModel,
      speechModel: fal.speech,
      // It puts the app's name before the model's itself.
      transcriptionModel: (modelId) => fal.transcription(modelId.replace(/^fal-ai\//, '')),
    };
  },
  luma: async (settings) => (await import('@ai-sdk/luma')).createLuma(settings),
  elevenlabs: async (settings) => (await import('@ai-sdk/elevenlabs')).createElevenLabs(settings),
  deepgram: async (settings) => (await import('@ai-sdk/deepgram')).createDeepgram(settings),
  assemblyai: async (settings) => (await import('@ai-sdk/assemblyai')).createAssemblyAI(settings),
  togetherai: async (settings) => (await import('@ai-sdk/togetherai')).createTogetherAI(settings),
  fireworks: async (settings) => (await import('@ai-sdk/fireworks')).createFireworks(settings),
  xai: async (settings) => (await import('@ai-sdk/xai')).createXai(settings),
  'amazon-bedrock': async ({ apiKey, ...settings }, { aws }) =>
    (await import('@ai-sdk/amazon-bedrock')).createAmazonBedrock(
      // Without AWS credentials the key is Bedrock's own API key.
      aws === undefined ? { ...settings, apiKey, region: 'us-east-1' } : { ...settings, ...aws },
    ),
};

/** Addresses that packages have built in and offer no setting for, or that answers name for what was ordered. */
export const BUILT_IN: Partial<Record<NativeKind, readonly string[]>> = {
  elevenlabs: ['https://api.elevenlabs.io'],
  deepgram: ['https://api.deepgram.com'],
  assemblyai: ['https://api.assemblyai.com'],
  fal: ['https://fal.run', 'https://queue.fal.run'],
  replicate: ['https://api.replicate.com'],
};

/** The package's provider, loaded at the first call and kept. */
export function createSdkLoader(
  upstream: UpstreamSettings,
  fetch: typeof globalThis.fetch,
): () => Promise<SdkProvider> {
  const load = upstream.kind === 'openai-compatible' ? undefined : PACKAGES[upstream.kind];
  if (load === undefined) throw new Error(`No package for ${upstream.kind}`);
  let loaded: Promise<SdkProvider> | null = null;
  const settings = {
    apiKey: upstream.apiKey ?? '',
    baseURL: upstream.baseUrl,
    headers: upstream.headers,
    fetch: withoutSilentEvents(fetch),
  };
  return () => (loaded ??= load(settings, upstream));
}
