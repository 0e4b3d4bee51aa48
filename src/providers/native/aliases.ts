/** Known models that a provider hosts for others: our id → the name that it has there. */
export type ModelAliases = Readonly<Record<string, string>>;

/** A model that both draws and edits stands twice in the catalogue, as the two have prices of their own. */
export const OPENAI_MODELS: ModelAliases = {
  'openai/gpt-image-1-mini-edit': 'gpt-image-1-mini',
  'openai/gpt-image-1-edit': 'gpt-image-1',
  'openai/gpt-image-1.5-edit': 'gpt-image-1.5',
  'openai/gpt-image-2-edit': 'gpt-image-2',
};

export const ELEVENLABS_MODELS: ModelAliases = { 'elevenlabs/music-v1': 'music_v1' };

export const REPLICATE_MODELS: ModelAliases = {
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

export const FAL_MODELS: ModelAliases = {
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
