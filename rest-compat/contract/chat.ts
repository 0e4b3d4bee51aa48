import type { Route } from '../shared/route.types.js';
import { CHAT_FIELDS, TOOLS_IN_ONE_FORM } from '../shared/openapi/chat-schema.js';
import { withOptional } from '../shared/openapi/json-schema.js';
import { BODY_LIMITS } from '../shared/route.types.js';

export const chatRoutes: Route[] = [
  {
    method: 'POST',
    path: '/chat/completions',
    operationId: 'createChatCompletion',
    tag: 'Chat',
    summary: 'Answer a conversation',
    description:
      'With `stream: true` (in the body or the query) the answer comes as Server-Sent Events, one chunk each, ended by `data: [DONE]`.',
    operation: 'createChatCompletion',
    streamOperation: 'chatCompletion',
    parameters: { stream: { description: 'True: the answer is streamed, like with the field in the body.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      extra: CHAT_FIELDS,
      rules: TOOLS_IN_ONE_FORM,
      example: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
    },
    describe: (schema) =>
      withOptional(schema, ['reasoning', 'tool_calls', 'function_call', 'logprobs', 'citations']),
    schemaName: 'ChatCompletion',
  },
];
