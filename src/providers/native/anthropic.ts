import { refuse } from './dropped-settings.js';
import { withoutBlankTexts } from './blank-texts.js';
import { UNKNOWN_TO_MAKERS, usesFeature } from './chat-features.js';
import {
  checkBesideThinking,
  checkTemperature,
  formatBySchema,
  thinkingOf,
  thinkingOptions,
} from './claude.js';
import type { Thinking } from './claude.js';
import type { ChatCall } from '../providers.types.js';
import type { FeatureOptions, FormatOptions, NativeProvider } from './native-provider.types.js';

const LAST_EVENT = new TextEncoder().encode('\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n');

/**
 * Adds the last event to streams whose connection ended without it. Anthropic sends the stop reason in the event before, but its package reports
 * it only with the last event. An answer with a stop reason is complete; one without stays cut off.
 */
function withEndedStreams(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    const { body, ok, status, statusText, headers } = answer;
    if (body === null || !ok || !(headers.get('content-type') ?? '').includes('event-stream')) return answer;
    // A second last event has no effect: the package stops reading after the first.
    const closing = new TransformStream<Uint8Array, Uint8Array>({
      flush: (controller) => controller.enqueue(LAST_EVENT),
    });
    return new Response(body.pipeThrough(closing), { status, statusText, headers });
  };
}

/** With a thinking budget it supports neither a required tool call nor a schema that is emulated by a tool. @throws UpstreamError rejected */
async function checkBesideBudget(
  modelId: string,
  { responseFormat: format, toolChoice }: FormatOptions,
): Promise<void> {
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool')
    refuse(modelId, 'this tool_choice beside reasoning_effort');
  if (format?.type !== 'json') return;
  const { getModelCapabilities, supportsNativeStructuredOutputSchema } =
    await import('@ai-sdk/anthropic/internal');
  const bySchema =
    getModelCapabilities(modelId).supportsStructuredOutput &&
    format.schema !== undefined &&
    supportsNativeStructuredOutputSchema(format.schema);
  if (!bySchema) refuse(modelId, 'this response_format beside reasoning_effort');
}

async function optionsOf(call: ChatCall, format: FormatOptions): Promise<FeatureOptions> {
  const thinking: Thinking | null = await thinkingOf(call);
  checkBesideThinking(call, thinking);
  if (thinking?.type === 'enabled') await checkBesideBudget(call.modelId, format);
  const anthropic = {
    ...(usesFeature('parallel_tool_calls', call.body) ? { disableParallelToolUse: true } : {}),
    ...(thinking?.type === 'enabled' ? { thinking } : {}),
  };
  return { ...thinkingOptions(call, thinking), providerOptions: { anthropic } };
}

/** Anthropic. */
export const anthropic: NativeProvider = {
  id: 'anthropic',
  variables: ['ANTHROPIC_API_KEY'],
  baseUrl: () => 'https://api.anthropic.com/v1',
  keyHeader: { name: 'x-api-key', prefix: '' },
  probe: { headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }) },
  convention: false,
  dialects: ['messages'],
  outputCap: 'max_tokens',
  types: ['chat'],
  package: {
    load: async ({ fetch, ...settings }) =>
      (await import('@ai-sdk/anthropic')).createAnthropic({ ...settings, fetch: withEndedStreams(fetch) }),
    does: ['chat'],
  },
  chat: {
    unsupportedFeatures: [
      ...UNKNOWN_TO_MAKERS,
      'frequency_penalty',
      'presence_penalty',
      'seed',
      'image_url.detail',
    ],
    check: checkTemperature,
    // If the caller forbids tools, the package itself leaves them out when needed, so that earlier calls stay valid.
    format: formatBySchema,
    options: optionsOf,
    prompt: withoutBlankTexts,
  },
};
