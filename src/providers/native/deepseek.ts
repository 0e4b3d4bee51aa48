import type { NativeProvider } from './native-provider.types.js';

/** DeepSeek. It is OpenAI-compatible. */
export const deepseek: NativeProvider = {
  id: 'deepseek',
  variables: ['DEEPSEEK_API_KEY'],
  baseUrl: () => 'https://api.deepseek.com/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: ['chat'],
};
