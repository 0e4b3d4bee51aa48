import type { ModelType } from '../../contract/words.js';
import type { ModelAliases } from './aliases.js';
import { ELEVENLABS_MODELS, FAL_MODELS, OPENAI_MODELS, REPLICATE_MODELS } from './aliases.js';

/** Upstreams whose names, addresses and ways are known here; `openai-compatible` stands for every other. */
export const NATIVE_KINDS = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'groq',
  'xai',
  'deepseek',
  'azure',
  'amazon-bedrock',
  'cohere',
  'togetherai',
  'fireworks',
  'replicate',
  'fal',
  'luma',
  'elevenlabs',
  'deepgram',
  'assemblyai',
] as const;

export type NativeKind = (typeof NATIVE_KINDS)[number];

type Variables = Readonly<Record<string, string | undefined>>;

/** How one kind is reached. */
export interface KindFacts {
  /** Variables that switch it on, all of them; the first is its API key. */
  variables: readonly string[];
  /** Its usual address in the form that its adapter expects, without a trailing slash; null: the environment does not say enough. */
  baseUrl(env: Variables): string | null;
  /** Header that carries the key, with what stands before it. Default `authorization: Bearer`. */
  keyHeader?: { name: string; prefix: string };
  /** True: it speaks the common convention (chat and whatever else it has). */
  convention: boolean;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Types of its known models that this adapter can call. */
  types: readonly ModelType[];
  /** Known models of others that it offers: our id → its own name. */
  aliases?: ModelAliases;
}

const at = (address: string) => (): string => address;
const CONVENTION = { convention: true, outputCap: 'max_tokens' } as const;
const OWN = { convention: false, outputCap: 'max_tokens' } as const;

/** Every native kind with the address it has by default. */
export const KINDS: Record<NativeKind, KindFacts> = {
  openai: {
    ...CONVENTION,
    variables: ['OPENAI_API_KEY'],
    baseUrl: at('https://api.openai.com/v1'),
    outputCap: 'max_completion_tokens',
    types: ['chat', 'embedding', 'image', 'image_edit', 'video', 'tts', 'stt'],
    aliases: OPENAI_MODELS,
  },
  anthropic: {
    ...OWN,
    variables: ['ANTHROPIC_API_KEY'],
    baseUrl: at('https://api.anthropic.com/v1'),
    types: ['chat'],
  },
  google: {
    ...OWN,
    variables: ['GOOGLE_GENERATIVE_AI_API_KEY'],
    baseUrl: at('https://generativelanguage.googleapis.com/v1beta'),
    keyHeader: { name: 'x-goog-api-key', prefix: '' },
    types: ['chat', 'embedding', 'image', 'video', 'tts'],
  },
  mistral: {
    ...CONVENTION,
    variables: ['MISTRAL_API_KEY'],
    baseUrl: at('https://api.mistral.ai/v1'),
    types: ['chat', 'embedding', 'stt'],
  },
  groq: {
    ...CONVENTION,
    variables: ['GROQ_API_KEY'],
    baseUrl: at('https://api.groq.com/openai/v1'),
    types: ['chat', 'stt'],
  },
  xai: {
    ...CONVENTION,
    variables: ['XAI_API_KEY'],
    baseUrl: at('https://api.x.ai/v1'),
    types: ['chat', 'image', 'video'],
  },
  deepseek: {
    ...CONVENTION,
    variables: ['DEEPSEEK_API_KEY'],
    baseUrl: at('https://api.deepseek.com/v1'),
    types: ['chat'],
  },
  azure: {
    ...CONVENTION,
    variables: ['AZURE_API_KEY', 'AZURE_RESOURCE_NAME'],
    baseUrl: ({ AZURE_RESOURCE_NAME: resource }) =>
      resource ? `https://${resource}.openai.azure.com/openai/v1` : null,
    keyHeader: { name: 'api-key', prefix: '' },
    outputCap: 'max_completion_tokens',
    // Its models are deployments with names of the operator's: PROVIDERS_FILE lists them.
    types: [],
  },
  'amazon-bedrock': {
    ...OWN,
    variables: ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID', 'AWS_REGION'],
    baseUrl: ({ AWS_REGION: region }) => (region ? `https://bedrock-runtime.${region}.amazonaws.com` : null),
    types: [],
  },
  cohere: {
    ...OWN,
    variables: ['COHERE_API_KEY'],
    baseUrl: at('https://api.cohere.com/v2'),
    types: ['chat', 'embedding'],
  },
  togetherai: {
    ...CONVENTION,
    variables: ['TOGETHER_API_KEY'],
    baseUrl: at('https://api.together.xyz/v1'),
    types: [],
  },
  fireworks: {
    ...CONVENTION,
    variables: ['FIREWORKS_API_KEY'],
    baseUrl: at('https://api.fireworks.ai/inference/v1'),
    types: [],
  },
  replicate: {
    ...OWN,
    variables: ['REPLICATE_API_TOKEN'],
    baseUrl: at('https://api.replicate.com/v1'),
    types: [],
    aliases: REPLICATE_MODELS,
  },
  fal: {
    ...OWN,
    variables: ['FAL_API_KEY'],
    baseUrl: at('https://fal.run'),
    keyHeader: { name: 'authorization', prefix: 'Key ' },
    types: [],
    aliases: FAL_MODELS,
  },
  luma: {
    ...OWN,
    variables: ['LUMA_API_KEY'],
    baseUrl: at('https://api.lumalabs.ai'),
    types: ['image', 'video'],
  },
  elevenlabs: {
    ...OWN,
    variables: ['ELEVENLABS_API_KEY'],
    baseUrl: at('https://api.elevenlabs.io'),
    keyHeader: { name: 'xi-api-key', prefix: '' },
    types: ['music', 'tts', 'stt'],
    aliases: ELEVENLABS_MODELS,
  },
  deepgram: {
    ...OWN,
    variables: ['DEEPGRAM_API_KEY'],
    baseUrl: at('https://api.deepgram.com'),
    keyHeader: { name: 'authorization', prefix: 'Token ' },
    types: ['tts', 'stt'],
  },
  assemblyai: {
    ...OWN,
    variables: ['ASSEMBLYAI_API_KEY'],
    baseUrl: at('https://api.assemblyai.com'),
    keyHeader: { name: 'authorization', prefix: '' },
    types: ['stt'],
  },
};

/** `OPENAI_BASE_URL`, `AMAZON_BEDROCK_BASE_URL` …: another address of the same kind (a gateway, a region). */
export const baseUrlVariable = (kind: NativeKind): string =>
  `${kind.toUpperCase().replaceAll('-', '_')}_BASE_URL`;
