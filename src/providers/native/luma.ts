import { brokenAnswer, cleanMessage } from '../openai-compatible/upstream-errors.js';
import type { Fields } from '../predictions/api-client.js';
import { finalFault } from '../predictions/operation.js';
import type { OperationState } from '../predictions/operation.js';
import { outputAddress } from '../predictions/output-file.js';
import { resolutionOf } from '../video-calls.js';
import { PLAIN_SETTINGS } from '../video.types.js';
import type { VideoCapabilities, VideoModel } from '../video.types.js';
import { videoModel } from '../predictions/video-upstream.js';
import type { VideoCall, VideoUpstream } from '../predictions/video-upstream.js';
import { requestBelow } from './held-orders.js';
import { FEW_SHAPES } from './image-shapes.js';
import type { NativeProvider } from './native-provider.types.js';

/** Luma accepts images only as public URLs, so the installation must be reachable from the internet. */
const capabilitiesOf = (publicFiles: boolean): VideoCapabilities => ({
  modes: publicFiles ? ['text_to_video', 'image_to_video'] : ['text_to_video'],
  settings: () => ({
    ...PLAIN_SETTINGS,
    durations: [5, 9],
    resolutions: ['720p', '1080p', '4k'],
    aspectRatios: ['16:9', '9:16', '1:1', '4:3', '3:4'],
    loop: true,
  }),
  decodesHere: false,
});

function bodyOf(call: VideoCall, modelId: string): object {
  return {
    generation_type: 'video',
    model: modelId,
    prompt: call.prompt,
    aspect_ratio: call.aspectRatio,
    duration: `${call.duration}s`,
    resolution: resolutionOf(call),
    // The first frame of the video.
    ...(call.image === undefined ? {} : { keyframes: { frame0: { type: 'image', url: call.sourceUrl } } }),
    ...(call.providerOptions['penstock']?.['loop'] === true ? { loop: true } : {}),
  };
}

function stateOf(generation: Fields, secrets: readonly string[]): OperationState<string> {
  const { state, failure_reason: reason, assets } = generation;
  if (state === 'failed')
    throw finalFault(`Upstream video failed: ${cleanMessage(String(reason ?? ''), secrets)}`);
  return state === 'completed' ? { done: true, value: outputAddress(assets) } : { done: false };
}

/** Luma's Dream Machine. */
function createVideo(upstream: VideoUpstream): VideoModel {
  const { api, modelId, secrets } = upstream;
  const path = '/dream-machine/v1/generations';
  const own = (id: string): string => `${path}/${encodeURIComponent(id)}`;
  return videoModel(upstream, capabilitiesOf(upstream.publicFiles), {
    async place(call) {
      const { id } = await api.json({ method: 'POST', path, body: bodyOf(call, modelId), signal: undefined });
      if (typeof id !== 'string' || id === '') throw brokenAnswer('no generation');
      return id;
    },
    check: async (id, signal) => stateOf(await api.json({ method: 'GET', path: own(id), signal }), secrets),
    withdraw: (id, signal) => api.json({ method: 'DELETE', path: own(id), signal }),
    fetch: ({ address }, signal) => api.file(address ?? '', signal),
  });
}

/** Luma. */
export const luma: NativeProvider = {
  id: 'luma',
  variables: ['LUMA_API_KEY'],
  baseUrl: () => 'https://api.lumalabs.ai',
  probe: { path: '/dream-machine/v1/generations?limit=1' },
  convention: false,
  outputCap: 'max_tokens',
  types: ['image', 'video'],
  package: {
    load: async (settings) => (await import('@ai-sdk/luma')).createLuma(settings),
    does: ['image'],
  },
  orders: { withdraw: requestBelow('DELETE', (id) => `/dream-machine/v1/generations/${id}`) },
  video: createVideo,
  image: { shapes: () => FEW_SHAPES, polls: true },
};
