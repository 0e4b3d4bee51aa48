import type { ChatCall } from '../providers.types.js';
import { refuse } from './dropped-settings.js';
import type { ChatWays } from './native-provider.types.js';
import { isReasoning, partsOf } from './v4-prompt.js';

type Body = ChatCall['body'];

/** Features that change an answer, by their name in an error message, with a check whether a request uses them. */
const USED = {
  frequency_penalty: (body: Body) => Number(body['frequency_penalty'] ?? 0) !== 0,
  presence_penalty: (body: Body) => Number(body['presence_penalty'] ?? 0) !== 0,
  seed: (body: Body) => body['seed'] != null,
  logprobs: (body: Body) => body['logprobs'] === true,
  top_logprobs: (body: Body) => Number(body['top_logprobs'] ?? 0) !== 0,
  logit_bias: (body: Body) => Object.keys(body['logit_bias'] ?? {}).length > 0,
  verbosity: (body: Body) => body['verbosity'] != null,
  prediction: (body: Body) => body['prediction'] != null,
  parallel_tool_calls: (body: Body) => body['parallel_tool_calls'] === false && Array.isArray(body['tools']),
  'this reasoning_effort': ({ reasoning_effort: effort }: Body) => effort != null && !isReasoning(effort),
  'pictures in system messages': (body: Body) => hasPicture(body, { role: 'system' }),
  'pictures in assistant messages': (body: Body) => hasPicture(body, { role: 'assistant' }),
  'pictures in tool messages': (body: Body) => hasPicture(body, { role: 'tool' }),
  'image_url.detail': (body: Body) => hasPicture(body, { coarse: true }),
} satisfies Record<string, (body: Body) => boolean>;

export type ChatFeature = keyof typeof USED;

/** Values of `detail` that equal the providers' default. */
const USUAL_DETAILS: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'high']);

/** Whether a message of the role has an image; `coarse`: one with less detail than the default. */
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

/** Parameters of sampling and length. */
export const SAMPLES = ['logprobs', 'top_logprobs', 'logit_bias', 'verbosity'] as const;
/** Features that no native API has. */
export const UNKNOWN_TO_MAKERS = [
  ...SAMPLES,
  'prediction',
  'this reasoning_effort',
  'pictures in system messages',
  'pictures in assistant messages',
  'pictures in tool messages',
] as const;

/**
 * Refuses features that would silently be left out.
 * @throws UpstreamError rejected `Model <name> does not support <parameter>`
 */
export function checkChatFeatures(
  { unsupportedFeatures = [], check }: Pick<ChatWays, 'unsupportedFeatures' | 'check'>,
  call: Pick<ChatCall, 'modelId' | 'body'>,
): void {
  const missing = unsupportedFeatures.find((name) => USED[name](call.body));
  if (missing !== undefined) refuse(call.modelId, missing);
  check?.(call);
}

/** Whether a request uses one of them. */
export const usesFeature = (name: ChatFeature, body: ChatCall['body']): boolean => USED[name](body);
