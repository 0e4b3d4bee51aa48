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
import type { FeatureOptions, FormatAsked, NativeProvider, Variables } from './native-provider.types.js';

type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

const isTool = (part: { type: string }): boolean => part.type === 'tool-call' || part.type === 'tool-result';

/** Calls of an assistant and answers to them, in words. */
function told(message: LanguageModelV4Message): LanguageModelV4Message {
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
 * It takes calls and answers of tools only where tools are offered, and its package leaves them out otherwise: an agent's last round would
 * not know what its tools found. Then they are told in words.
 */
function withToolsAsText(
  prompt: LanguageModelV4Prompt,
  { tools, toolChoice }: Pick<FormatAsked, 'tools' | 'toolChoice'>,
): LanguageModelV4Prompt {
  if (tools !== undefined && tools.length > 0 && toolChoice?.type !== 'none') return prompt;
  const has = prompt.some(({ content }) => Array.isArray(content) && content.some(isTool));
  return has ? prompt.map(told) : prompt;
}

const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

/** AWS signs with more than one value; undefined where the environment has none. */
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

/** Amazon's own model that takes no cap where it is to think hard: its package leaves the cap out. */
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
    // Also where the model thinks as it sees fit: a package that does not know it yet would choose a budget.
    ...(thinking !== null && thinking.type !== 'none'
      ? { providerOptions: { amazonBedrock: { reasoningConfig: thinking } } }
      : {}),
  };
}

/** A caller's tools are left out where it forbids them: the schema is one tool more, and a call of any is demanded. */
function formatOf(asked: FormatAsked): FormatAsked {
  const format = formatBySchema(asked);
  const forbidden = asked.responseFormat?.type === 'json' && asked.toolChoice?.type === 'none';
  return forbidden ? { responseFormat: format.responseFormat } : format;
}

/** The word for `dimensions` of each family of models is its maker's. */
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
  dialectDoor: bedrockClaude,
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
    lacks: [
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
    // Its package leaves out a seed that is falsy: zero goes as an object, which JSON writes as the number that it holds.
    seed: (seed) => (seed === 0 ? (Object(0) as number) : seed),
    unwanted: { inputs: { negative_prompt: 'negativeText' } },
  },
  dimensionsName,
};
