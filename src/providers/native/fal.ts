import { UpstreamError } from '../providers.types.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { ApiClient, Fields } from '../predictions/api-client.js';
import { finalFault, followOrder, withRetries } from '../predictions/operation.js';
import type { OperationLimits, OperationState } from '../predictions/operation.js';
import { outputAddress } from '../predictions/output-file.js';
import type { Predictor } from '../predictions/predictions.types.js';
import type { KnownFields, ModelField, ModelFields } from '../predictions/model-fields.js';
import type { NativeProvider } from './native-provider.types.js';

const ENDED = new Set(['COMPLETED', 'FAILED', 'CANCELED', 'CANCELLED']);
const PERCENT = /(\d{1,3})%\|/g;

function percentOf(logs: unknown): number | undefined {
  if (!Array.isArray(logs)) return undefined;
  const text = (logs as { message?: unknown }[]).map(({ message }) => String(message ?? '')).join('\n');
  const found = [...text.slice(-2000).matchAll(PERCENT)].at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The path to poll a request: as the queue's answer says, or below the app (the first two segments; the rest is the endpoint's own path). */
function requestPath(api: ApiClient, modelId: string, queued: Fields): string {
  const { request_id: id, response_url: address } = queued;
  if (typeof address === 'string' && api.isOwn(address)) return address;
  if (typeof id !== 'string' || id === '') throw brokenAnswer('no request');
  return `/${modelId.split('/').slice(0, 2).join('/')}/requests/${encodeURIComponent(id)}`;
}

/** fal's queue. */
function openPredictor(api: ApiClient, limits: OperationLimits): Predictor {
  /** Reads a result. An error of the model may be the caller's fault, and is never a reason to order again. */
  const resultAt = async (path: string, signal: AbortSignal): Promise<OperationState<unknown>> => {
    try {
      return { done: true, value: await api.json({ method: 'GET', path, signal }) };
    } catch (error) {
      if (error instanceof UpstreamError && error.options.status !== null && error.fault === 'failed')
        throw finalFault(error.message);
      throw error;
    }
  };
  const withdraw = (path: string, signal: AbortSignal) =>
    api.json({ method: 'PUT', path: `${path}/cancel`, signal });
  return {
    predict: async (modelId, input, { signal, onProgress, orders: log }) =>
      await followOrder({
        async place() {
          const body = await input();
          const queued = await api.json({ method: 'POST', path: `/${modelId}`, body, signal: undefined });
          return requestPath(api, modelId, queued);
        },
        async check(path, within) {
          const status = await api.json({ method: 'GET', path: `${path}/status?logs=1`, signal: within });
          if (ENDED.has(String(status['status']))) return await resultAt(path, within);
          return { done: false, percent: percentOf(status['logs']) };
        },
        withdraw,
        limits,
        signal,
        onProgress,
        log,
      }),
    withdraw,
    upload: ({ bytes, mediaType }) =>
      Promise.resolve(`data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`),
    file: async (output, signal) => {
      const address = outputAddress(output);
      return await withRetries(() => api.file(address, signal), { pollMs: limits.pollMs, signal });
    },
  };
}

/** Durations in the form of fal's models: one string for each. */
const lasting = (seconds: readonly number[], unit = ''): ModelField => ({
  name: 'duration',
  values: Object.fromEntries(seconds.map((value) => [String(value), `${value}${unit}`])),
});
const oneOf = (name: string, values: readonly string[]): ModelField => ({
  name,
  values: Object.fromEntries(values.map((value) => [value, value])),
});
const LINES = oneOf('resolution', ['720p', '1080p']);

const kling = (version: string): ModelFields => ({
  inputs: {
    prompt: 'prompt',
    negative_prompt: 'negative_prompt',
    duration_seconds: lasting([5, 10]),
    aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16', '1:1']),
    source_image: 'image_url',
  },
  modes: {
    text_to_video: `fal-ai/kling-video/${version}/text-to-video`,
    image_to_video: {
      upstreamId: `fal-ai/kling-video/${version}/image-to-video`,
      without: ['aspect_ratio'],
    },
  },
});
const ray = (model: string): ModelFields => ({
  inputs: {
    prompt: 'prompt',
    duration_seconds: lasting([5, 9], 's'),
    resolution: LINES,
    aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16', '1:1', '4:3', '3:4']),
    loop: 'loop',
    source_image: 'image_url',
  },
  modes: { image_to_video: `${model}/image-to-video` },
});
const veo = (model: string): ModelFields => ({
  inputs: {
    prompt: 'prompt',
    duration_seconds: lasting([4, 6, 8], 's'),
    resolution: LINES,
    aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16']),
    negative_prompt: 'negative_prompt',
    seed: 'seed',
    source_image: 'image_url',
  },
  modes: { image_to_video: { upstreamId: `${model}/image-to-video`, without: ['negative_prompt', 'seed'] } },
});
const KONTEXT: ModelFields = {
  inputs: { prompt: 'prompt', image: 'image_url', seed: 'seed', guidance_scale: 'guidance_scale' },
  fixed: { output_format: 'png' },
};

/** How models on fal take our parameters, by the documentation of their inputs. */
const FAL_FIELDS: KnownFields = {
  'fal-ai/veo3.1': veo('fal-ai/veo3.1'),
  'fal-ai/veo3.1/fast': veo('fal-ai/veo3.1/fast'),
  'fal-ai/kling-video/v2.1/master': kling('v2.1/master'),
  'fal-ai/kling-video/v2.1/standard': { ...kling('v2.1/standard'), tasks: ['image_to_video'] },
  'fal-ai/luma-dream-machine/ray-2': ray('fal-ai/luma-dream-machine/ray-2'),
  'fal-ai/luma-dream-machine/ray-2-flash': ray('fal-ai/luma-dream-machine/ray-2-flash'),
  'fal-ai/minimax/hailuo-02/standard': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: lasting([6, 10]),
      prompt_optimizer: 'prompt_optimizer',
      source_image: 'image_url',
    },
    modes: {
      text_to_video: 'fal-ai/minimax/hailuo-02/standard/text-to-video',
      image_to_video: 'fal-ai/minimax/hailuo-02/standard/image-to-video',
    },
  },
  'fal-ai/stable-audio-25/text-to-audio': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: { name: 'seconds_total', min: 1, max: 60 },
      seed: 'seed',
      guidance_scale: 'guidance_scale',
      num_inference_steps: 'num_inference_steps',
    },
  },
  'fal-ai/lyria2': {
    inputs: {
      prompt: 'prompt',
      negative_prompt: 'negative_prompt',
      seed: 'seed',
      // Its music is always 30 seconds long.
      duration_seconds: { name: 'duration', values: { 30: null } },
    },
  },
  'fal-ai/flux-pro/kontext': KONTEXT,
  'fal-ai/flux-pro/kontext/max': KONTEXT,
  'fal-ai/flux-pro/v1/fill': {
    inputs: { prompt: 'prompt', image: 'image_url', mask: 'mask_url', seed: 'seed' },
    fixed: { output_format: 'png' },
  },
  'fal-ai/flux/dev/image-to-image': {
    inputs: {
      prompt: 'prompt',
      image: 'image_url',
      strength: 'strength',
      seed: 'seed',
      guidance_scale: 'guidance_scale',
      num_inference_steps: 'num_inference_steps',
    },
    tasks: ['styleTransfer'],
  },
  'fal-ai/bria/background/remove': { inputs: { image: 'image_url' } },
  'fal-ai/bria/eraser': { inputs: { image: 'image_url', mask: 'mask_url' } },
  'fal-ai/bria/background/replace': {
    inputs: { image: 'image_url', prompt: 'prompt', seed: 'seed' },
    tasks: ['backgroundReplace'],
  },
};

/** Known models that it hosts: our id → its own name. */
const ALIASES = {
  'black-forest-labs/flux-schnell': 'fal-ai/flux/schnell',
  'black-forest-labs/flux-dev': 'fal-ai/flux/dev',
  'black-forest-labs/flux-1.1-pro': 'fal-ai/flux-pro/v1.1',
  'recraft/recraft-v3': 'fal-ai/recraft/v3/text-to-image',
  'ideogram/ideogram-v3': 'fal-ai/ideogram/v3',
  'black-forest-labs/flux-kontext-pro': 'fal-ai/flux-pro/kontext',
  'black-forest-labs/flux-kontext-max': 'fal-ai/flux-pro/kontext/max',
  'black-forest-labs/flux-fill-pro': 'fal-ai/flux-pro/v1/fill',
  'black-forest-labs/flux-dev-image-to-image': 'fal-ai/flux/dev/image-to-image',
  'bria/remove-background': 'fal-ai/bria/background/remove',
  'bria/eraser': 'fal-ai/bria/eraser',
  'bria/background-replace': 'fal-ai/bria/background/replace',
  'google/veo-3.1-generate-preview': 'fal-ai/veo3.1',
  'google/veo-3.1-fast-generate-preview': 'fal-ai/veo3.1/fast',
  'kling/kling-v2.1-master': 'fal-ai/kling-video/v2.1/master',
  'kling/kling-v2.1': 'fal-ai/kling-video/v2.1/standard',
  'luma/ray-2': 'fal-ai/luma-dream-machine/ray-2',
  'luma/ray-flash-2': 'fal-ai/luma-dream-machine/ray-2-flash',
  'minimax/hailuo-02': 'fal-ai/minimax/hailuo-02/standard',
  'stability/stable-audio-2.5': 'fal-ai/stable-audio-25/text-to-audio',
  'google/lyria-2': 'fal-ai/lyria2',
};

const ADDRESS = 'https://fal.run';
const QUEUE = 'https://queue.fal.run';

/** fal. */
export const fal: NativeProvider = {
  id: 'fal',
  variables: ['FAL_API_KEY'],
  baseUrl: () => ADDRESS,
  keyHeader: { name: 'authorization', prefix: 'Key ' },
  convention: false,
  outputCap: 'max_tokens',
  types: [],
  aliases: ALIASES,
  package: {
    async load(settings) {
      const made = (await import('@ai-sdk/fal')).createFal(settings);
      return {
        imageModel: made.imageModel,
        speechModel: made.speech,
        // The package itself puts the app's name before the model's.
        transcriptionModel: (modelId) => made.transcription(modelId.replace(/^fal-ai\//, '')),
      };
    },
    does: ['image', 'tts', 'stt'],
    builtIn: [ADDRESS, QUEUE],
  },
  // Images are returned at once, as URLs; transcriptions wait in its queue, which returns the address to poll.
  orders: {
    isOpen: (status, text) => status === 400 && text.includes('still in progress'),
    withdraw: ({ response_url: address }) =>
      typeof address === 'string' ? { method: 'PUT', path: `${address}/cancel` } : null,
  },
  ownApi: (baseUrl) => ({ ...(baseUrl === ADDRESS ? { baseUrl: QUEUE } : {}), alsoOwn: [QUEUE] }),
  predictions: { open: (api, { limits }) => openPredictor(api, limits), known: FAL_FIELDS },
  image: { takesSeed: () => true },
  stt: {
    settings: ({ language }) => ({ language, diarize: false, chunkLevel: 'segment' }),
  },
};
