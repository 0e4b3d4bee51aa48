/** Known models that a provider hosts for others: our id → the name that it has there. */
export type ModelAliases = Readonly<Record<string, string>>;

export const REPLICATE_MODELS: ModelAliases = {
  'black-forest-labs/flux-schnell': 'black-forest-labs/flux-schnell',
  'black-forest-labs/flux-dev': 'black-forest-labs/flux-dev',
  'black-forest-labs/flux-1.1-pro': 'black-forest-labs/flux-1.1-pro',
  'black-forest-labs/flux-2-pro': 'black-forest-labs/flux-2-pro',
  'recraft/recraft-v3': 'recraft-ai/recraft-v3',
  'stability/sd3.5-large': 'stability-ai/stable-diffusion-3.5-large',
  'stability/sd3.5-medium': 'stability-ai/stable-diffusion-3.5-medium',
};

export const FAL_MODELS: ModelAliases = {
  'black-forest-labs/flux-schnell': 'fal-ai/flux/schnell',
  'black-forest-labs/flux-dev': 'fal-ai/flux/dev',
  'black-forest-labs/flux-1.1-pro': 'fal-ai/flux-pro/v1.1',
  'recraft/recraft-v3': 'fal-ai/recraft/v3/text-to-image',
  'ideogram/ideogram-v3': 'fal-ai/ideogram/v3',
};
