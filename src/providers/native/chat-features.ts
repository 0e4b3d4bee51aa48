import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ChatCall } from '../providers.types.js';
import { refuse } from './dropped.js';
import type { NativeKind } from './kinds.js';
import { checkBesideThinking, thinkingFor } from './thinking.js';
import { isReasoning, partsOf } from './v4-prompt.js';

/** What of the convention changes an answer, in the words of a refusal, and whether a request uses it. */
const USED: Readonly<Record<string, (body: ChatCall['body']) => boolean>> = {
  frequency_penalty: (body) => Number(body['frequency_penalty'] ?? 0) !== 0,
  presence_penalty: (body) => Number(body['presence_penalty'] ?? 0) !== 0,
  seed: (body) => body['seed'] != null,
  logprobs: (body) => body['logprobs'] === true,
  top_logprobs: (body) => Number(body['top_logprobs'] ?? 0) !== 0,
  logit_bias: (body) => Object.keys(body['logit_bias'] ?? {}).length > 0,
  verbosity: (body) => body['verbosity'] != null,
  prediction: (body) => body['prediction'] != null,
  parallel_tool_calls: (body) => body['parallel_tool_calls'] === false && Array.isArray(body['tools']),
  'this reasoning_effort': ({ reasoning_effort: effort }) => effort != null && !isReasoning(effort),
  'pictures in system messages': (body) => hasPicture(body, { role: 'system' }),
  'pictures in assistant messages': (body) => hasPicture(body, { role: 'assistant' }),
  'pictures in tool messages': (body) => hasPicture(body, { role: 'tool' }),
  'image_url.detail': (body) => hasPicture(body, { coarse: true }),
};

/** How closely makers look at pictures by themselves. */
const USUAL_DETAILS: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'high']);

/** Whether a message of the role has a picture; `coarse`: one to be looked at less closely than makers do. */
function hasPicture({ messages }: ChatCall['body'], wanted: { role?: string; coarse?: true }): boolean {
  return (messages as Record<string, unknown>[]).some(
    ({ role, content }) =>
      (wanted.role ?? role) === role &&
      partsOf(content).some(
        (part) =>
          part.type === 'image_url' && (wanted.coarse !== true || !USUAL_DETAILS.has(part.image_url.detail)),
      ),
  );
}

const SAMPLES = ['logprobs', 'top_logprobs', 'logit_bias', 'verbosity'] as const;
/** What no maker's own form has. */
const UNHEARD = [
  ...SAMPLES,
  'prediction',
  'this reasoning_effort',
  'pictures in system messages',
  'pictures in assistant messages',
  'pictures in tool messages',
] as const;

/** What makers' own APIs have no word for, or their packages do not pass on. */
const LACKING: Partial<Record<NativeKind, readonly (keyof typeof USED)[]>> = {
  anthropic: [...UNHEARD, 'frequency_penalty', 'presence_penalty', 'seed', 'image_url.detail'],
  'amazon-bedrock': [
    ...UNHEARD,
    'frequency_penalty',
    'presence_penalty',
    'seed',
    'parallel_tool_calls',
    'image_url.detail',
  ],
  google: [...UNHEARD, 'parallel_tool_calls', 'image_url.detail'],
  cohere: [...UNHEARD, 'parallel_tool_calls'],
  mistral: SAMPLES,
};

/** Kinds whose temperatures end at 1 (Bedrock's OpenAI models aside). */
const MILD: ReadonlySet<NativeKind> = new Set(['anthropic', 'amazon-bedrock']);
/** Kinds that answer in JSON by a schema alone. */
const BY_SCHEMA: ReadonlySet<NativeKind> = new Set(['anthropic', 'amazon-bedrock']);

/**
 * Refuses what would silently be left out.
 * @throws UpstreamError rejected `Model <name> does not support <parameter>`
 */
export function checkChatFeatures(
  kind: NativeKind,
  { modelId, body }: Pick<ChatCall, 'modelId' | 'body'>,
): void {
  const missing = LACKING[kind]?.find((name) => USED[name]?.(body));
  if (missing !== undefined) refuse(modelId, missing);
  // Their packages would send 1 instead.
  if (MILD.has(kind) && !modelId.includes('openai.') && Number(body['temperature'] ?? 0) > 1)
    refuse(modelId, 'temperature above 1');
}

type Asked = Pick<LanguageModelV4CallOptions, 'responseFormat' | 'tools' | 'toolChoice'>;

/**
 * The format with the tools beside it. `json_object` of models that want a schema is one that any object fits; their packages offer it as
 * one tool more and demand a call of any: so a caller's tools are left out where it forbids them, and the format where it demands a call.
 */
export function formatFor(kind: NativeKind, asked: Asked): Asked {
  const { responseFormat: format, ...tools } = asked;
  if (format?.type !== 'json' || !BY_SCHEMA.has(kind)) return asked;
  const choice = tools.toolChoice?.type;
  if (choice === 'required' || choice === 'tool') return tools;
  const schema = format.schema ?? { type: 'object', additionalProperties: true };
  // Anthropic's package leaves them out by itself, and only where it has to: what was called before stays known.
  const forbidden = kind === 'amazon-bedrock' && choice === 'none';
  return { ...(forbidden ? {} : tools), responseFormat: { ...format, schema } };
}

/**
 * One tool at a time, and tokens to think with, in the words of the makers that have some for them.
 * @throws UpstreamError rejected, for what the model cannot do while it thinks
 */
export async function featureOptions(
  kind: NativeKind,
  call: ChatCall,
  format: Asked,
): Promise<
  Pick<LanguageModelV4CallOptions, 'maxOutputTokens' | 'providerOptions' | 'reasoning' | 'temperature'>
> {
  const thinking = await thinkingFor(kind, call);
  await checkBesideThinking(kind, call, { ...format, thinking });
  const budget = thinking?.type === 'enabled' ? thinking : null;
  const oneByOne = kind === 'anthropic' && USED['parallel_tool_calls']?.(call.body) === true;
  const anthropic = {
    ...(oneByOne ? { disableParallelToolUse: true } : {}),
    ...(budget === null ? {} : { thinking: budget }),
  };
  return {
    // The packages add the budget to it: what they send is the cap that was reserved.
    ...(budget === null ? {} : { maxOutputTokens: call.maxTokens - budget.budgetTokens }),
    ...(budget !== null || thinking?.type === 'none' ? { reasoning: 'provider-default' as const } : {}),
    // One that thinks is told none; what is left of them here asks for nothing.
    ...(thinking === null || thinking.type === 'none' ? {} : { temperature: undefined }),
    ...(kind === 'anthropic' ? { providerOptions: { anthropic } } : {}),
    // Also where the model thinks as it sees fit: a package that does not know it yet would choose a budget.
    ...(kind === 'amazon-bedrock' && thinking !== null && thinking.type !== 'none'
      ? { providerOptions: { amazonBedrock: { reasoningConfig: thinking } } }
      : {}),
  };
}
