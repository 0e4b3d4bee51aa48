import { brokenAnswer, cleanMessage, rejectedRequest } from '../openai-compatible/upstream-errors.js';
import { isFields } from '../predictions/api-client.js';
import type { Fields } from '../predictions/api-client.js';
import { finalFault } from '../predictions/operation.js';
import type { OperationState } from '../predictions/operation.js';
import { outputAddress } from '../predictions/output-file.js';
import { resolutionOf, sourceOf } from '../video-calls.js';
import { PLAIN_SETTINGS } from '../video.types.js';
import type { VideoCapabilities, VideoModel } from '../video.types.js';
import { videoModel } from '../predictions/video-upstream.js';
import type { VideoCall, VideoUpstream } from '../predictions/video-upstream.js';
import { UNKNOWN_TO_MAKERS } from './chat-features.js';
import { SHAPES } from './image-shapes.js';
import type { NativeProvider } from './native-provider.types.js';

/** Veo's capabilities. Only its third generation has resolutions, and the higher one only for eight seconds. */
const capabilitiesOf = (modelId: string): VideoCapabilities => ({
  modes: ['text_to_video', 'image_to_video'],
  settings: () => ({
    ...PLAIN_SETTINGS,
    durations: modelId.startsWith('veo-2') ? [5, 6, 7, 8] : [4, 6, 8],
    resolutions: modelId.startsWith('veo-2') ? ['720p'] : ['720p', '1080p'],
    aspectRatios: ['16:9', '9:16'],
    seed: true,
    negativePrompt: true,
  }),
  decodesHere: false,
});

function bodyOf(call: VideoCall, modelId: string): object {
  const source = sourceOf(call.image);
  const negative = call.providerOptions['penstock']?.['negative_prompt'];
  const image =
    source === null
      ? {}
      : {
          image: {
            bytesBase64Encoded: Buffer.from(source.bytes).toString('base64'),
            mimeType: source.mediaType,
          },
        };
  return {
    instances: [{ prompt: call.prompt, ...image }],
    parameters: {
      sampleCount: 1,
      aspectRatio: call.aspectRatio,
      durationSeconds: call.duration,
      ...(modelId.startsWith('veo-2') ? {} : { resolution: resolutionOf(call) }),
      ...(call.seed === undefined ? {} : { seed: call.seed }),
      ...(negative === undefined ? {} : { negativePrompt: negative }),
    },
  };
}

/** Codes of google.rpc for a faulty request: INVALID_ARGUMENT, FAILED_PRECONDITION. */
const BLAMES_CALLER = new Set([3, 9]);

function stateOf(operation: Fields, secrets: readonly string[]): OperationState<string> {
  const { done, error, response } = operation;
  if (isFields(error)) {
    const said = String(error['message'] ?? '');
    if (BLAMES_CALLER.has(Number(error['code']))) throw rejectedRequest(said, { status: 400, secrets });
    throw finalFault(`Upstream video failed: ${cleanMessage(said, secrets)}`);
  }
  if (done !== true) return { done: false };
  const made = isFields(response) ? response['generateVideoResponse'] : undefined;
  if (isFields(made) && Number(made['raiMediaFilteredCount'] ?? 0) > 0)
    throw finalFault('Upstream made no video: its filter kept it back');
  return { done: true, value: addressOf(made) };
}

function addressOf(made: unknown): string {
  const [sample] = isFields(made) && Array.isArray(made['generatedSamples']) ? made['generatedSamples'] : [];
  return outputAddress(sample);
}

/** Veo over the Gemini API (`:predictLongRunning`). */
function createVideo(upstream: VideoUpstream): VideoModel {
  const { api, modelId, secrets } = upstream;
  return videoModel(upstream, capabilitiesOf(modelId), {
    async place(call) {
      const path = `/models/${modelId}:predictLongRunning`;
      const body = bodyOf(call, modelId);
      const { name } = await api.json({ method: 'POST', path, body, signal: undefined });
      if (typeof name !== 'string' || name === '') throw brokenAnswer('no operation');
      return name;
    },
    check: async (name, signal) =>
      stateOf(await api.json({ method: 'GET', path: `/${name}`, signal }), secrets),
    withdraw: (name, signal) => api.json({ method: 'POST', path: `/${name}:cancel`, signal }),
    fetch: ({ address }, signal) => api.file(address ?? '', signal),
  });
}

/** Google's Gemini API. */
export const google: NativeProvider = {
  id: 'google',
  variables: ['GOOGLE_GENERATIVE_AI_API_KEY'],
  baseUrl: () => 'https://generativelanguage.googleapis.com/v1beta',
  keyHeader: { name: 'x-goog-api-key', prefix: '' },
  // Google answers 400 (invalid argument) to a wrong key.
  probe: { refusals: [400] },
  convention: false,
  outputCap: 'max_tokens',
  types: ['chat', 'embedding', 'image', 'video', 'tts'],
  package: {
    load: async (settings) => (await import('@ai-sdk/google')).createGoogle(settings),
    does: ['chat', 'embedding', 'image', 'tts'],
  },
  video: createVideo,
  chat: { unsupportedFeatures: [...UNKNOWN_TO_MAKERS, 'parallel_tool_calls', 'image_url.detail'] },
  image: { shapes: () => SHAPES },
  tts: {
    presets: {
      alloy: 'Zephyr',
      echo: 'Puck',
      fable: 'Charon',
      onyx: 'Fenrir',
      nova: 'Kore',
      shimmer: 'Leda',
    },
    speed: { min: 1, max: 1 },
  },
  dimensionsName: () => 'outputDimensionality',
};
