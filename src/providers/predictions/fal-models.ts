import type { KnownFields, ModelField, ModelFields } from './model-fields.js';

/** Durations as fal's models write them: a word for each. */
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

/** How models on fal take our parameters, as their pages there list their inputs. */
export const FAL_FIELDS: KnownFields = {
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
      // It always makes half a minute.
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
