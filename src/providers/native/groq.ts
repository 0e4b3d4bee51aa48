import type { NativeProvider } from './native-provider.types.js';

/** Groq. It is OpenAI-compatible. */
export const groq: NativeProvider = {
  id: 'groq',
  variables: ['GROQ_API_KEY'],
  baseUrl: () => 'https://api.groq.com/openai/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: ['chat', 'stt'],
};
