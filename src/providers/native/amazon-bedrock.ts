import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ChatCall } from '../providers.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { bedrockClaude } from './bedrock-claude.js';
import { withoutBlankTexts } from './blank-texts.js';
import { UNKNOWN_TO_MAKERS } from './chat-features.js';
import {
  checkBesideThinking,
  checkTemperature,
  formatBySchema,
  thinkingOf,
  thinkingOptions,
} from './claude.js';
import { refuse } from './dropped-settings.js';
import type { FeatureOptions, FormatOptions, NativeProvider, Variables } from './native-provider.types.js';

type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

const isTool = (part: { type: string }): boolean => part.type === 'tool-call' || part.type === 'tool-result';

/** Converts tool calls and results to text. */
function toolsAsText(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'assistant')
    return {
      ...message,
      content: message.content.map((part) =>
        part.type === 'tool-call'
          ? { type: 'text', text: `[Called ${part.toolName} with ${JSON.stringify(part.input)}]` }
          : part,
      ),
    };
  return message.role === 'tool' ? { role: 'user', content: answersOf(message) } : message;
}

function answersOf({ content }: ToolMessage): { type: 'text'; text: string }[] {
  return content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const said = 'value' in part.output ? part.output.value : '';
    const text = typeof said === 'string' ? said : JSON.stringify(said);
    return [{ type: 'text' as const, text: `[${part.toolName} answered: ${text}]` }];
  });
}

/**
 * Bedrock accepts tool calls and results only if the request offers tools; its package leaves them out otherwise, and an agent's last round would
 * not see the results. So they are then converted to text.
 */
function withToolsAsText(
  prompt: LanguageModelV4Prompt,
  { tools, toolChoice }: Pick<FormatOptions, 'tools' | 'toolChoice'>,
): LanguageModelV4Prompt {
  if (tools !== undefined && tools.length > 0 && toolChoice?.type !== 'none') return prompt;
  const has = prompt.some(({ content }) => Array.isArray(content) && content.some(isTool));
  return has ? prompt.map(toolsAsText) : prompt;
}

const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

/** AWS credentials of the environment; undefined if there are none. */
function credentialsOf(env: Variables): UpstreamSettings['aws'] {
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = env;
  const session = env['AWS_SESSION_TOKEN'];
  if (!isSet(id) || !isSet(secret)) return undefined;
  return {
    region: isSet(region) ? region : 'us-east-1',
    accessKeyId: id,
    secretAccessKey: secret,
    ...(isSet(session) ? { sessionToken: session } : {}),
  };
}

/** Amazon's Nova 2 with high effort accepts no maximum of tokens: its package leaves `maxTokens` out. */
const takesNoCap = ({ modelId, body }: ChatCall): boolean =>
  modelId.includes('amazon.nova-2-lite') &&
  ['high', 'xhigh', 'max'].includes(body['reasoning_effort'] as string);

/** @throws UpstreamError rejected */
async function optionsOf(call: ChatCall): Promise<FeatureOptions> {
  const { modelId } = call;
  if (takesNoCap(call)) refuse(modelId, 'this reasoning_effort');
  const thinking = modelId.includes('anthropic') ? await thinkingOf(call) : null;
  checkBesideThinking(call, thinking);
  return {
    ...thinkingOptions(call, thinking),
    // Also for adaptive thinking: a package that does not know the model yet would choose a budget.
    ...(thinking !== null && thinking.type !== 'none'
      ? { providerOptions: { amazonBedrock: { reasoningConfig: thinking } } }
      : {}),
  };
}

/** Leaves the caller's tools out if it forbids calls: the package offers the schema as a further tool and requires a call of some tool. */
function formatOf(requested: FormatOptions): FormatOptions {
  const format = formatBySchema(requested);
  const forbidden = requested.responseFormat?.type === 'json' && requested.toolChoice?.type === 'none';
  return forbidden ? { responseFormat: format.responseFormat } : format;
}

/** The parameter for `dimensions` depends on the family of models. */
function dimensionsName(modelId: string): string {
  if (modelId.includes('cohere.embed-')) return 'outputDimension';
  return modelId.includes('amazon.nova-') ? 'embeddingDimension' : 'dimensions';
}

/** Amazon Bedrock. */
export const amazonBedrock: NativeProvider = {
  id: 'amazon-bedrock',
  variables: ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID', 'AWS_REGION'],
  baseUrl: ({ AWS_REGION: region }) => (region ? `https://bedrock-runtime.${region}.amazonaws.com` : null),
  credentials: credentialsOf,
  probe: null,
  convention: false,
  dialects: ['messages'],
  dialectConnection: bedrockClaude,
  outputCap: 'max_tokens',
  types: [],
  package: {
    load: async ({ apiKey, ...settings }, { aws }) =>
      (await import('@ai-sdk/amazon-bedrock')).createAmazonBedrock(
        // Without AWS credentials the key is Bedrock's own API key.
        aws === undefined ? { ...settings, apiKey, region: 'us-east-1' } : { ...settings, ...aws },
      ),
    does: ['chat', 'embedding', 'image'],
    optionsName: 'bedrock',
  },
  chat: {
    unsupportedFeatures: [
      ...UNKNOWN_TO_MAKERS,
      'frequency_penalty',
      'presence_penalty',
      'seed',
      'parallel_tool_calls',
      'image_url.detail',
    ],
    check: (call) => (call.modelId.includes('openai.') ? undefined : checkTemperature(call)),
    format: formatOf,
    options: optionsOf,
    prompt: (prompt, format) => withoutBlankTexts(withToolsAsText(prompt, format)),
  },
  image: {
    takesSeed: () => true,
    // Its package leaves out a falsy seed. So zero is passed as a Number object, which JSON writes as 0.
    seed: (seed) => (seed === 0 ? (Object(0) as number) : seed),
    unwanted: { inputs: { negative_prompt: 'negativeText' } },
  },
  dimensionsName,
};
