import { multipartOf } from './multipart.js';
import { brokenAnswer, cleanMessage } from './upstream-errors.js';
import { isFields } from '../predictions/api-client.js';
import type { Fields } from '../predictions/api-client.js';
import { finalFault } from '../predictions/operation.js';
import type { OperationState } from '../predictions/operation.js';
import { resolutionOf, sourceOf } from '../video-calls.js';
import { PLAIN_SETTINGS } from '../video.types.js';
import type { VideoCapabilities, VideoModel } from '../video.types.js';
import { videoModel } from '../predictions/video-upstream.js';
import type { VideoCall, VideoUpstream } from '../predictions/video-upstream.js';

/** Pixels as the API names them. */
const SIZES: Readonly<Record<string, string>> = {
  '720p 16:9': '1280x720',
  '720p 9:16': '720x1280',
  '1080p 16:9': '1792x1024',
  '1080p 9:16': '1024x1792',
};
/** Of the two, the larger model alone makes the larger sizes. */
const LARGE = /pro/;

const capabilitiesOf = (modelId: string): VideoCapabilities => ({
  modes: ['text_to_video', 'image_to_video'],
  settings: () => ({
    ...PLAIN_SETTINGS,
    durations: [4, 8, 12],
    resolutions: LARGE.test(modelId) ? ['720p', '1080p'] : ['720p'],
    aspectRatios: ['16:9', '9:16'],
  }),
  decodesHere: false,
});

function formOf(call: VideoCall, modelId: string): { bytes: Buffer; contentType: string } {
  const size = SIZES[`${resolutionOf(call)} ${call.aspectRatio}`];
  const source = sourceOf(call.image);
  const fields: [string, string][] = [
    ['model', modelId],
    ['prompt', call.prompt ?? ''],
    ...(call.duration === undefined ? [] : [['seconds', String(call.duration)] as [string, string]]),
    ...(size === undefined ? [] : [['size', size] as [string, string]]),
  ];
  const file = { name: 'input_reference', filename: 'input' };
  return multipartOf(
    fields,
    source === null ? [] : [{ ...file, contentType: source.mediaType, bytes: source.bytes }],
  );
}

function stateOf(video: Fields, secrets: readonly string[]): OperationState<null> {
  const { status, progress, error } = video;
  if (status === 'completed') return { done: true, value: null };
  if (status === 'failed') {
    const message = isFields(error) ? String(error['message'] ?? '') : '';
    throw finalFault(`Upstream video failed: ${cleanMessage(message, secrets)}`);
  }
  return { done: false, percent: typeof progress === 'number' ? progress : undefined };
}

/** Videos of the common convention (`POST /videos`, then its state, then its content). */
export function createOpenAiVideo(upstream: VideoUpstream): VideoModel {
  const { api, modelId, secrets } = upstream;
  const own = (id: string): string => `/videos/${encodeURIComponent(id)}`;
  return videoModel(upstream, capabilitiesOf(modelId), {
    async place(call) {
      const body = formOf(call, modelId);
      const { id } = await api.json({ method: 'POST', path: '/videos', body, signal: undefined });
      if (typeof id !== 'string' || id === '') throw brokenAnswer('no video');
      return id;
    },
    check: async (id, signal) => stateOf(await api.json({ method: 'GET', path: own(id), signal }), secrets),
    withdraw: (id, signal) => api.json({ method: 'DELETE', path: own(id), signal }),
    fetch: ({ reference }, signal) => api.bytes({ method: 'GET', path: `${own(reference)}/content`, signal }),
  });
}
