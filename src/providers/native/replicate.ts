import { multipartOf } from '../openai-compatible/multipart.js';
import { brokenAnswer, cleanMessage } from '../openai-compatible/upstream-errors.js';
import { isFields } from '../predictions/api-client.js';
import type { ApiClient, Fields } from '../predictions/api-client.js';
import { finalFault, followOrder, withRetries } from '../predictions/operation.js';
import type { OperationLimits, OperationState } from '../predictions/operation.js';
import { outputAddress } from '../predictions/output-file.js';
import type { PredictionInput, Predictor } from '../predictions/predictions.types.js';
import type { KnownFields, ModelField } from '../predictions/model-fields.js';
import { requestBelow } from './held-orders.js';
import { SHAPES } from './image-shapes.js';
import type { NativeProvider } from './native-provider.types.js';

/** Larger files are uploaded first; smaller ones are sent inside the input. */
const INLINE_BYTES = 256 * 1024;
/** The progress in a model's log: its last percentage. */
const PERCENT = /(\d{1,3})%\|/g;

function percentOf(logs: unknown): number | undefined {
  const found = typeof logs === 'string' ? [...logs.slice(-2000).matchAll(PERCENT)].at(-1)?.[1] : undefined;
  return found === undefined ? undefined : Number(found);
}

function stateOf(prediction: Fields, secrets: readonly string[]): OperationState<unknown> {
  const { status, output, error, logs } = prediction;
  if (status === 'succeeded') return { done: true, value: output };
  if (status === 'failed' || status === 'canceled' || status === 'aborted')
    throw finalFault(`Upstream prediction ${status}: ${cleanMessage(String(error ?? ''), secrets)}`);
  return { done: false, percent: percentOf(logs) };
}

/** Replicate's predictions: `owner/name` runs the latest version, `owner/name:version` that version. */
function openPredictor(
  api: ApiClient,
  { limits, secrets }: { limits: OperationLimits; secrets: readonly string[] },
): Predictor {
  const pathOf = (id: string): string => `/predictions/${encodeURIComponent(id)}`;
  const withdraw = (id: string, signal: AbortSignal) =>
    api.json({ method: 'POST', path: `${pathOf(id)}/cancel`, signal });
  /** Places an order and returns its prediction; fast models have already finished. */
  const order = async (modelId: string, input: PredictionInput): Promise<[string, Fields]> => {
    const [model = '', version] = modelId.split(':');
    const path = version === undefined ? `/models/${model}/predictions` : '/predictions';
    const body = { input: await input(), ...(version === undefined ? {} : { version }) };
    const made = await api.json({ method: 'POST', path, body, signal: undefined });
    if (typeof made['id'] !== 'string' || made['id'] === '') throw brokenAnswer('no prediction');
    return [made['id'], made];
  };
  return {
    async predict(modelId, input, { signal, onProgress, orders: log }) {
      let made: Fields | null = null;
      return await followOrder({
        async place() {
          const [id, prediction] = await order(modelId, input);
          made = prediction;
          return id;
        },
        async check(id, within) {
          const prediction = made ?? (await api.json({ method: 'GET', path: pathOf(id), signal: within }));
          made = null;
          return stateOf(prediction, secrets);
        },
        withdraw,
        limits,
        signal,
        onProgress,
        log,
      });
    },
    withdraw,
    async upload({ bytes, mediaType }, signal) {
      if (bytes.length <= INLINE_BYTES)
        return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
      const form = multipartOf([], [{ name: 'content', filename: 'input', contentType: mediaType, bytes }]);
      const { urls } = await api.json({ method: 'POST', path: '/files', body: form, signal });
      const address = isFields(urls) ? urls['get'] : undefined;
      if (typeof address !== 'string') throw brokenAnswer('no file');
      return address;
    },
    file: async (output, signal) => {
      const address = outputAddress(output);
      return await withRetries(() => api.file(address, signal), { pollMs: limits.pollMs, signal });
    },
  };
}

const oneOf = (name: string, values: readonly (string | number)[]): ModelField => ({
  name,
  values: Object.fromEntries(values.map((value) => [String(value), value])),
});

const WIDE_OR_TALL = oneOf('aspect_ratio', ['16:9', '9:16']);
const LUMA_RAY = {
  inputs: {
    prompt: 'prompt',
    duration_seconds: oneOf('duration', [5, 9]),
    aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16', '1:1', '4:3', '3:4']),
    loop: 'loop',
    source_image: 'start_image',
  },
};
const VEO = {
  inputs: {
    prompt: 'prompt',
    duration_seconds: oneOf('duration', [4, 6, 8]),
    resolution: oneOf('resolution', ['720p', '1080p']),
    aspect_ratio: WIDE_OR_TALL,
    negative_prompt: 'negative_prompt',
    seed: 'seed',
    source_image: 'image',
  },
};
const SORA = {
  inputs: {
    prompt: 'prompt',
    duration_seconds: oneOf('seconds', [4, 8, 12]),
    aspect_ratio: { name: 'aspect_ratio', values: { '16:9': 'landscape', '9:16': 'portrait' } },
    source_image: 'input_reference',
  },
};
const KLING = {
  inputs: {
    prompt: 'prompt',
    negative_prompt: 'negative_prompt',
    duration_seconds: oneOf('duration', [5, 10]),
    aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16', '1:1']),
    source_image: 'start_image',
  },
};
const KONTEXT = {
  inputs: { prompt: 'prompt', image: 'input_image', seed: 'seed' },
  fixed: { aspect_ratio: 'match_input_image', output_format: 'png' },
};

/** How models on Replicate take our parameters, by the documentation of their inputs. */
const REPLICATE_FIELDS: KnownFields = {
  'stability-ai/stable-diffusion-3.5-large': { inputs: { negative_prompt: 'negative_prompt' } },
  'stability-ai/stable-diffusion-3.5-medium': { inputs: { negative_prompt: 'negative_prompt' } },
  'google/veo-3.1': VEO,
  'google/veo-3.1-fast': VEO,
  'openai/sora-2': SORA,
  'openai/sora-2-pro': {
    inputs: {
      ...SORA.inputs,
      resolution: { name: 'resolution', values: { '720p': 'standard', '1080p': 'high' } },
    },
  },
  'kwaivgi/kling-v2.1-master': KLING,
  'kwaivgi/kling-v2.1': {
    inputs: {
      prompt: 'prompt',
      negative_prompt: 'negative_prompt',
      duration_seconds: oneOf('duration', [5, 10]),
      resolution: { name: 'mode', values: { '720p': 'standard', '1080p': 'pro' } },
      source_image: 'start_image',
    },
    tasks: ['image_to_video'],
  },
  'luma/ray-2-720p': LUMA_RAY,
  'luma/ray-flash-2-720p': LUMA_RAY,
  'minimax/hailuo-02': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: oneOf('duration', [6, 10]),
      // Its 768 lines are the nearest to 720.
      resolution: { name: 'resolution', values: { '720p': '768p', '1080p': '1080p' } },
      prompt_optimizer: 'prompt_optimizer',
      source_image: 'first_frame_image',
    },
  },
  'runwayml/gen4-turbo': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: oneOf('duration', [5, 10]),
      aspect_ratio: oneOf('aspect_ratio', ['16:9', '9:16', '4:3', '3:4', '1:1']),
      seed: 'seed',
      source_image: 'image',
    },
    tasks: ['image_to_video'],
  },
  'stability-ai/stable-audio-2.5': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: { name: 'duration', min: 1, max: 60 },
      seed: 'seed',
      steps: 'steps',
      cfg_scale: 'cfg_scale',
    },
  },
  'google/lyria-2': {
    inputs: {
      prompt: 'prompt',
      negative_prompt: 'negative_prompt',
      seed: 'seed',
      // Its music is always 30 seconds long.
      duration_seconds: { name: 'duration', values: { 30: null } },
    },
  },
  'meta/musicgen:671ac645ce5e552cc63a54a2bbff63fcf798043055d2dac5fc9e36a837eedcfb': {
    inputs: {
      prompt: 'prompt',
      duration_seconds: { name: 'duration', min: 1, max: 60 },
      output_format: 'output_format',
      source_audio: 'input_audio',
      seed: 'seed',
      temperature: 'temperature',
      top_k: 'top_k',
      top_p: 'top_p',
      classifier_free_guidance: 'classifier_free_guidance',
    },
    fixed: { model_version: 'stereo-melody-large', normalization_strategy: 'peak' },
  },
  'black-forest-labs/flux-kontext-pro': KONTEXT,
  'black-forest-labs/flux-kontext-max': KONTEXT,
  'black-forest-labs/flux-fill-pro': {
    inputs: {
      prompt: 'prompt',
      image: 'image',
      mask: 'mask',
      seed: 'seed',
      steps: 'steps',
      guidance: 'guidance',
    },
    fixed: { output_format: 'png' },
  },
  'black-forest-labs/flux-dev': {
    inputs: {
      prompt: 'prompt',
      image: 'image',
      strength: 'prompt_strength',
      seed: 'seed',
      guidance: 'guidance',
    },
    fixed: { output_format: 'png' },
    tasks: ['styleTransfer'],
  },
  'stability-ai/stable-diffusion-inpainting:95b7223104132402a9ae91cc677285bc5eb997834bd2349fa486f53910fd68b3':
    {
      inputs: {
        prompt: 'prompt',
        image: 'image',
        mask: 'mask',
        seed: 'seed',
        guidance_scale: 'guidance_scale',
        num_inference_steps: 'num_inference_steps',
      },
    },
  'bria/remove-background': { inputs: { image: 'image' } },
  'bria/eraser': { inputs: { image: 'image', mask: 'mask' } },
  'bria/generate-background': {
    inputs: { image: 'image', prompt: 'bg_prompt', seed: 'seed' },
    tasks: ['backgroundReplace'],
  },
  'google/upscaler': {
    inputs: { image: 'image', scale: { name: 'upscale_factor', values: { 2: 'x2', 4: 'x4' } } },
  },
};

/** Known models that it hosts: our id → its own name. */
const ALIASES = {
  'black-forest-labs/flux-schnell': 'black-forest-labs/flux-schnell',
  'black-forest-labs/flux-dev': 'black-forest-labs/flux-dev',
  'black-forest-labs/flux-1.1-pro': 'black-forest-labs/flux-1.1-pro',
  'black-forest-labs/flux-2-pro': 'black-forest-labs/flux-2-pro',
  'recraft/recraft-v3': 'recraft-ai/recraft-v3',
  'stability/sd3.5-large': 'stability-ai/stable-diffusion-3.5-large',
  'stability/sd3.5-medium': 'stability-ai/stable-diffusion-3.5-medium',
  'black-forest-labs/flux-kontext-pro': 'black-forest-labs/flux-kontext-pro',
  'black-forest-labs/flux-kontext-max': 'black-forest-labs/flux-kontext-max',
  'black-forest-labs/flux-fill-pro': 'black-forest-labs/flux-fill-pro',
  'black-forest-labs/flux-dev-image-to-image': 'black-forest-labs/flux-dev',
  'stability/stable-diffusion-inpainting':
    'stability-ai/stable-diffusion-inpainting:95b7223104132402a9ae91cc677285bc5eb997834bd2349fa486f53910fd68b3',
  'bria/remove-background': 'bria/remove-background',
  'bria/eraser': 'bria/eraser',
  'bria/background-replace': 'bria/generate-background',
  'google/upscaler': 'google/upscaler',
  'google/veo-3.1-generate-preview': 'google/veo-3.1',
  'google/veo-3.1-fast-generate-preview': 'google/veo-3.1-fast',
  'openai/sora-2': 'openai/sora-2',
  'openai/sora-2-pro': 'openai/sora-2-pro',
  'runway/gen4_turbo': 'runwayml/gen4-turbo',
  'kling/kling-v2.1-master': 'kwaivgi/kling-v2.1-master',
  'kling/kling-v2.1': 'kwaivgi/kling-v2.1',
  'luma/ray-2': 'luma/ray-2-720p',
  'luma/ray-flash-2': 'luma/ray-flash-2-720p',
  'minimax/hailuo-02': 'minimax/hailuo-02',
  'stability/stable-audio-2.5': 'stability-ai/stable-audio-2.5',
  'google/lyria-2': 'google/lyria-2',
  'meta/musicgen': 'meta/musicgen:671ac645ce5e552cc63a54a2bbff63fcf798043055d2dac5fc9e36a837eedcfb',
};

/** Replicate. */
export const replicate: NativeProvider = {
  id: 'replicate',
  variables: ['REPLICATE_API_TOKEN'],
  baseUrl: () => 'https://api.replicate.com/v1',
  convention: false,
  outputCap: 'max_tokens',
  types: [],
  aliases: ALIASES,
  package: {
    load: async ({ apiKey, ...settings }) =>
      (await import('@ai-sdk/replicate')).createReplicate({ ...settings, apiToken: apiKey }),
    does: ['image'],
    builtIn: ['https://api.replicate.com'],
  },
  orders: { withdraw: requestBelow('POST', (id) => `/predictions/${id}/cancel`) },
  predictions: { open: openPredictor, known: REPLICATE_FIELDS },
  image: { takesSeed: () => true, shapes: () => SHAPES, known: REPLICATE_FIELDS, polls: true },
};
