import { event } from '../support/fake-upstream.js';

/** A signature as Claude's are: nobody but its maker can read it. */
export const SIGNATURE = 'EqQBCkgIAxABGAIiQL8/KuZ3+signed==';

/** A whole answer of an upstream that speaks the Messages dialect. */
export function nativeMessage(content: object[], more: Record<string, unknown> = {}) {
  return {
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    model: 'up-model',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 4,
      output_tokens: 5,
      service_tier: 'standard',
    },
    ...more,
  };
}

export const textBlock = (text: string) => ({ type: 'text', text, citations: null });

const named = (data: { type: string }): string => `event: ${data.type}\n${event(data)}`;

/** Blocks with the deltas that each comes in. */
export interface StreamedBlock {
  start: object;
  deltas: object[];
}

export const textOf = (...texts: string[]): StreamedBlock => ({
  start: { type: 'text', text: '' },
  deltas: texts.map((text) => ({ type: 'text_delta', text })),
});

export const thoughtOf = (...texts: string[]): StreamedBlock => ({
  start: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    ...texts.map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: SIGNATURE },
  ],
});

export const callOf = (id: string, name: string, ...pieces: string[]): StreamedBlock => ({
  start: { type: 'tool_use', id, name, input: {} },
  deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
});

/** A stream of the dialect as its maker sends it. */
export function nativeStream(
  blocks: readonly StreamedBlock[],
  { reason = 'end_turn', ...more }: Record<string, unknown> = {},
): string[] {
  const { usage, ...begun } = nativeMessage([], { stop_reason: null, ...more });
  return [
    named({ type: 'message_start', message: { ...begun, usage: { ...usage, output_tokens: 1 } } } as never),
    named({ type: 'ping' }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      named({ type: 'content_block_start', index, content_block: start } as never),
      ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta } as never)),
      named({ type: 'content_block_stop', index } as never),
    ]),
    named({
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 5 },
    } as never),
    named({ type: 'message_stop' }),
  ];
}
