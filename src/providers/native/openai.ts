import { createOpenAiVideo } from '../openai-compatible/openai-video.js';
import type { NativeProvider } from './native-provider.types.js';

/** OpenAI, whose API is the convention. */
export const openai: NativeProvider = {
  id: 'openai',
  variables: ['OPENAI_API_KEY'],
  baseUrl: () => 'https://api.openai.com/v1',
  convention: true,
  dialects: ['responses'],
  outputCap: 'max_completion_tokens',
  types: ['chat', 'embedding', 'image', 'image_edit', 'video', 'tts', 'stt'],
  // A model that both draws and edits stands twice in the catalogue, as the two have prices of their own.
  aliases: {
    'openai/gpt-image-1-mini-edit': 'gpt-image-1-mini',
    'openai/gpt-image-1-edit': 'gpt-image-1',
    'openai/gpt-image-1.5-edit': 'gpt-image-1.5',
    'openai/gpt-image-2-edit': 'gpt-image-2',
  },
  moderates: true,
  video: createOpenAiVideo,
};
