import { amazonEvents } from './amazon-events.js';
import type { AmazonEvent } from './amazon-events.js';
import type { NativeReply } from './native-upstream.js';

/** Makers with their own form. */
export const OWN_FORMS = ['anthropic', 'amazon-bedrock', 'cohere', 'google'] as const;
export type OwnForm = (typeof OWN_FORMS)[number];

type Events = (object | string)[];

/** One maker's answers: "Yes", then a call of `go` where `calls`. */
interface MakersAnswers {
  /** Its paths for a whole answer, and for a stream. */
  paths: { whole: string; streamed: string };
  /** Its finish reasons: the end, the maximum of tokens, a tool call, a filter. */
  reasons: { stop: string[]; length: string[]; tool_calls: string[]; content_filter: string[] };
  whole(reason: string, calls: boolean): object;
  events(reason: string, calls: boolean): Events;
}

const claudeHead = { type: 'message', id: 'msg_1', role: 'assistant', model: 'claude', stop_sequence: null };
const block = (index: number, content_block: object, delta: object): object[] => [
  { type: 'content_block_start', index, content_block },
  { type: 'content_block_delta', index, delta },
  { type: 'content_block_stop', index },
];
const geminiUsage = { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 };
const gemini = (parts: object[], more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  usageMetadata: geminiUsage,
});
const geminiCall = { functionCall: { name: 'go', args: { a: 1 } } };
const cohereCall = (text: string) => ({
  id: 'c1',
  type: 'function',
  function: { name: 'go', arguments: text },
});
const cohereUsage = { tokens: { input_tokens: 3, output_tokens: 1 } };
const amazon = (event: string, payload: object): AmazonEvent => ({ event, payload });

export const ANSWERS: Record<OwnForm, MakersAnswers> = {
  anthropic: {
    paths: { whole: '/v1/messages', streamed: '/v1/messages' },
    reasons: {
      stop: ['end_turn', 'stop_sequence', 'pause_turn'],
      length: ['max_tokens', 'MAX_TOKENS', 'model_context_window_exceeded'],
      tool_calls: ['tool_use'],
      content_filter: ['refusal'],
    },
    whole: (stop_reason, calls) => ({
      ...claudeHead,
      content: [
        { type: 'text', text: 'Yes' },
        ...(calls ? [{ type: 'tool_use', id: 'c1', name: 'go', input: { a: 1 } }] : []),
      ],
      stop_reason,
      usage: { input_tokens: 3, output_tokens: 1 },
    }),
    events: (stop_reason, calls) => [
      {
        type: 'message_start',
        message: {
          ...claudeHead,
          content: [],
          stop_reason: null,
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      },
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Yes' }),
      ...(calls
        ? block(
            1,
            { type: 'tool_use', id: 'c1', name: 'go', input: {} },
            { type: 'input_json_delta', partial_json: '{"a":1}' },
          )
        : []),
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: 'message_stop' },
    ],
  },
  'amazon-bedrock': {
    paths: { whole: '/converse', streamed: '/converse-stream' },
    reasons: {
      stop: ['end_turn', 'stop_sequence'],
      length: ['max_tokens', 'model_context_window_exceeded'],
      tool_calls: ['tool_use'],
      content_filter: ['guardrail_intervened', 'content_filtered'],
    },
    whole: (stopReason, calls) => ({
      output: {
        message: {
          role: 'assistant',
          content: [
            { text: 'Yes' },
            ...(calls ? [{ toolUse: { toolUseId: 'c1', name: 'go', input: { a: 1 } } }] : []),
          ],
        },
      },
      stopReason,
      usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
    }),
    events: (stopReason, calls) => [
      amazon('messageStart', { role: 'assistant' }),
      amazon('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Yes' } }),
      amazon('contentBlockStop', { contentBlockIndex: 0 }),
      ...(calls
        ? [
            amazon('contentBlockStart', {
              contentBlockIndex: 1,
              start: { toolUse: { toolUseId: 'c1', name: 'go' } },
            }),
            amazon('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"a":1}' } } }),
            amazon('contentBlockStop', { contentBlockIndex: 1 }),
          ]
        : []),
      amazon('messageStop', { stopReason }),
      amazon('metadata', {
        usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
        metrics: { latencyMs: 1 },
      }),
    ],
  },
  cohere: {
    paths: { whole: '/v2/chat', streamed: '/v2/chat' },
    reasons: {
      stop: ['COMPLETE', 'STOP_SEQUENCE'],
      length: ['MAX_TOKENS', 'ERROR_LIMIT'],
      tool_calls: ['TOOL_CALL'],
      content_filter: ['ERROR_TOXIC'],
    },
    whole: (finish_reason, calls) => ({
      id: 'm',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: 'Yes' }],
        ...(calls ? { tool_calls: [cohereCall('{"a":1}')] } : {}),
      },
      finish_reason,
      usage: cohereUsage,
    }),
    events: (finish_reason, calls) => [
      { type: 'message-start', id: 'm', delta: { message: { role: 'assistant', content: [] } } },
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Yes' } } } },
      { type: 'content-end', index: 0 },
      ...(calls
        ? [
            { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: cohereCall('') } } },
            {
              type: 'tool-call-delta',
              index: 0,
              delta: { message: { tool_calls: { function: { arguments: '{"a":1}' } } } },
            },
            { type: 'tool-call-end', index: 0 },
          ]
        : []),
      { type: 'message-end', delta: { finish_reason, usage: cohereUsage } },
    ],
  },
  google: {
    paths: { whole: ':generateContent', streamed: ':streamGenerateContent' },
    reasons: {
      stop: ['STOP'],
      length: ['MAX_TOKENS'],
      tool_calls: [],
      content_filter: ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'],
    },
    whole: (finishReason, calls) =>
      gemini([{ text: 'Yes' }, ...(calls ? [geminiCall] : [])], { finishReason }),
    events: (finishReason, calls) => [
      gemini([{ text: 'Yes' }]),
      ...(calls ? [gemini([geminiCall])] : []),
      gemini([{ text: '' }], { finishReason }),
    ],
  },
};

/** Events in a maker's form. */
export function streamReply(maker: OwnForm, events: Events): NativeReply {
  if (maker !== 'amazon-bedrock') return { events };
  return {
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    body: amazonEvents(...(events as AmazonEvent[])),
  };
}
