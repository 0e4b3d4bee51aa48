import { createOpenAiVideo } from '../openai-compatible/openai-video.js';
import type { NativeProvider } from './native-provider.types.js';

/** OpenAI's models in an Azure resource. They are deployments named by the operator, who lists them in PROVIDERS_FILE. */
export const azure: NativeProvider = {
  id: 'azure',
  variables: ['AZURE_API_KEY', 'AZURE_RESOURCE_NAME'],
  baseUrl: ({ AZURE_RESOURCE_NAME: resource }) =>
    resource ? `https://${resource}.openai.azure.com/openai/v1` : null,
  keyHeader: { name: 'api-key', prefix: '' },
  convention: true,
  dialects: ['responses'],
  outputCap: 'max_completion_tokens',
  types: [],
  video: createOpenAiVideo,
};
