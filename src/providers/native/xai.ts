import { brokenAnswer, cleanMessage } from '../openai-compatible/upstream-errors.js';
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
import { SHAPES } from './image-shapes.js';
import type { NativeProvider } from './native-provider.types.js';

const SECONDS = Array.from({ length: 15 }, (_, index) => index + 1);

const CAPABILITIES: VideoCapabilities = {
  modes: ['text_to_video', 'image_to_video'],
  settings: () => ({
    ...PLAIN_SETTINGS,
    durations: SECONDS,
    resolutions: ['720p'],
    aspectRatios: ['16:9', '9:16', '1:1', '4:3', '3:4'],
  }),
  decodesHere: false,
};

function bodyOf(call: VideoCall, modelId: string): object {
  const source = sourceOf(call.image);
  const image = source && `data:${source.mediaType};base64,${Buffer.from(source.bytes).toString('base64')}`;
  return {
    model: modelId,
    prompt: call.prompt,
    duration: call.duration,
    aspect_ratio: call.aspectRatio,
    resolution: resolutionOf(call),
    ...(image === null ? {} : { image: { url: image } }),
  };
}

function stateOf(request: Fields, secrets: readonly string[]): OperationState<string> {
  const { status, video, error, progress } = request;
  if (status === 'failed' || status === 'expired') {
    const message = isFields(error) ? String(error['message'] ?? error['code'] ?? '') : '';
    throw finalFault(`Upstream video ${status}: ${cleanMessage(message, secrets)}`);
  }
  if (status === 'done' || (status === undefined && isFields(video)))
    return { done: true, value: outputAddress(video) };
  return { done: false, percent: typeof progress === 'number' ? progress : undefined };
}

/** Videos of xAI (`POST /videos/generations`, then `GET /videos/{id}`). Its API cannot cancel an order. */
function createVideo(upstream: VideoUpstream): VideoModel {
  const { api, modelId, secrets } = upstream;
  return videoModel(upstream, CAPABILITIES, {
    async place(call) {
      const path = '/videos/generations';
      const body = bodyOf(call, modelId);
      const { request_id: id } = await api.json({ method: 'POST', path, body, signal: undefined });
      if (typeof id !== 'string' || id === '') throw brokenAnswer('no request');
      return id;
    },
    async check(id, signal) {
      const path = `/videos/${encodeURIComponent(id)}`;
      return stateOf(await api.json({ method: 'GET', path, signal }), secrets);
    },
    fetch: ({ address }, signal) => api.file(address ?? '', signal),
  });
}

/** xAI. It is OpenAI-compatible except for images, which its package makes, and videos. */
export const xai: NativeProvider = {
  id: 'xai',
  variables: ['XAI_API_KEY'],
  baseUrl: () => 'https://api.x.ai/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: ['chat', 'image', 'video'],
  package: {
    load: async (settings) => (await import('@ai-sdk/xai')).createXai(settings),
    does: ['image'],
  },
  video: createVideo,
  image: { shapes: () => SHAPES },
};
