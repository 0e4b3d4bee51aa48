import type { KnownFields, ModelField } from './model-fields.js';

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

/** How models on Replicate take our parameters, as their pages there list their inputs. */
export const REPLICATE_FIELDS: KnownFields = {
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
      // It always makes half a minute.
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
