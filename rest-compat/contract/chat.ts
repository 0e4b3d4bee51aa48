import type { Route } from '../shared/route.types.js';
import { CHAT_FIELDS, TOOLS_IN_ONE_FORM } from '../shared/openapi/chat-schema.js';
import { withOptional } from '../shared/openapi/json-schema.js';
import { BODY_LIMITS } from '../shared/route.types.js';

const MESSAGE = 'role content tool_calls: toolCalls function_call: functionCall';

const USAGE = `
  prompt_tokens: promptTokens completion_tokens: completionTokens total_tokens: totalTokens
  credits_used: creditsUsed credits_breakdown: creditsBreakdown { base }
  tokens_remaining_estimate: tokensRemainingEstimate`;

export const chatRoutes: Route[] = [
  {
    method: 'POST',
    path: '/chat/completions',
    operationId: 'createChatCompletion',
    tag: 'Chat',
    summary: 'Answer a conversation',
    description:
      'With `stream: true` (in the body or the query) the answer comes as Server-Sent Events, one chunk each, ended by `data: [DONE]`.',
    document: `mutation ($input: ChatCompletionInput!) {
      body: createChatCompletion(input: $input) {
        id object created model model_tier: modelTier
        choices { index message { ${MESSAGE} } finish_reason: finishReason logprobs }
        usage { ${USAGE} } citations
      }
    }`,
    streamDocument: `subscription ($input: ChatCompletionInput!) {
      body: chatCompletion(input: $input) {
        id object created model
        choices { index delta { ${MESSAGE} } finish_reason: finishReason logprobs }
        model_tier: modelTier usage { ${USAGE} } citations
      }
    }`,
    parameters: { stream: { description: 'True: the answer is streamed, like with the field in the body.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      extra: CHAT_FIELDS,
      rules: TOOLS_IN_ONE_FORM,
      example: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
    },
    raw: 'chat',
    describe: (schema) => withOptional(schema, ['tool_calls', 'function_call', 'logprobs', 'citations']),
    schemaName: 'ChatCompletion',
  },
];
