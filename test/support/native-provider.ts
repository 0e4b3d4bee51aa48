import { pino } from 'pino';
import type { Egress } from '../../src/egress/index.js';
import { createProviderRegistry } from '../../src/providers/index.js';
import type { ChatCall, Provider, ProviderRegistry } from '../../src/providers/index.js';

/** The key of every provider here. */
export const NATIVE_KEY = 'sk-wires-0123456789abcdef';
const KEY = NATIVE_KEY;
/** The signal of calls that nobody cancels. */
export const signal = new AbortController().signal;

const ENVIRONMENTS: Record<string, { base: string; env: Record<string, string> }> = {
  'amazon-bedrock': {
    base: '',
    env: { AWS_SECRET_ACCESS_KEY: KEY, AWS_ACCESS_KEY_ID: 'AKIA0', AWS_REGION: 'eu-west-1' },
  },
  anthropic: { base: '/v1', env: { ANTHROPIC_API_KEY: KEY } },
  assemblyai: { base: '', env: { ASSEMBLYAI_API_KEY: KEY } },
  azure: { base: '/openai/v1', env: { AZURE_API_KEY: KEY } },
  cohere: { base: '/v2', env: { COHERE_API_KEY: KEY } },
  deepgram: { base: '', env: { DEEPGRAM_API_KEY: KEY } },
  elevenlabs: { base: '', env: { ELEVENLABS_API_KEY: KEY } },
  fal: { base: '', env: { FAL_API_KEY: KEY } },
  fireworks: { base: '/inference/v1', env: { FIREWORKS_API_KEY: KEY } },
  google: { base: '/v1beta', env: { GOOGLE_GENERATIVE_AI_API_KEY: KEY } },
  luma: { base: '', env: { LUMA_API_KEY: KEY } },
  openai: { base: '/v1', env: { OPENAI_API_KEY: KEY } },
  replicate: { base: '/v1', env: { REPLICATE_API_TOKEN: KEY } },
  togetherai: { base: '/v1', env: { TOGETHER_API_KEY: KEY } },
  xai: { base: '/v1', env: { XAI_API_KEY: KEY } },
};

/** One provider, enabled by its environment variables, at an address of the test. Close the registry at the end. */
export async function openNative(
  id: string,
  { origin, egress }: { origin: string; egress?: Egress },
): Promise<{ provider: Provider; registry: ProviderRegistry }> {
  const { base, env } = ENVIRONMENTS[id]!;
  const name = `${id.toUpperCase().replaceAll('-', '_')}_BASE_URL`;
  const registry = await createProviderRegistry({
    file: null,
    env: { ...env, [name]: origin + base },
    logger: pino({ level: 'silent' }),
    ...(egress === undefined ? {} : { egress }),
  });
  return { provider: registry.find(id)!, registry };
}

export const chatCall = (modelId: string, body: object = {}): ChatCall => ({
  modelId,
  body: { messages: [{ role: 'user', content: 'Hi' }], ...body },
  maxTokens: 20,
  outputCap: 'max_tokens',
  promptTokens: 2,
  signal,
});
export const drawing = (more: object = {}) => ({
  prompt: 'A cat',
  n: 1,
  size: '1024x1024' as const,
  aspectRatio: undefined,
  seed: undefined,
  files: undefined,
  mask: undefined,
  providerOptions: {},
  abortSignal: signal,
  ...more,
});
export const listening = (more: object = {}) => ({
  audio: Buffer.from('RIFF'),
  mediaType: 'audio/wav',
  durationSeconds: 2,
  language: null,
  words: true,
  diarization: true,
  translation: false,
  modelInputs: {},
  signal,
  ...more,
});
