import { event } from '../support/fake-upstream.js';

/** A whole answer of an upstream that speaks the Responses dialect. */
export function nativeResponse(text: string, more: Record<string, unknown> = {}) {
  return {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: 'up-model',
    output: [
      {
        id: 'msg_upstream',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      },
    ],
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
    store: false,
    ...more,
  };
}

/** The same as the events of its stream. */
export function nativeEvents(texts: readonly string[], { extra }: { extra?: object } = {}): string[] {
  const text = texts.join('');
  const whole = nativeResponse(text);
  const [message] = whole.output;
  const place = { item_id: 'msg_upstream', output_index: 0, content_index: 0 };
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const events: Record<string, unknown>[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...message, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part },
    ...texts.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    ...(extra === undefined ? [] : [extra as Record<string, unknown>]),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: { ...part, text } },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response: whole },
  ];
  return events.map((one, at) => {
    const { type, ...rest } = one;
    return `event: ${String(type)}\n${event({ type, sequence_number: at, ...rest })}`;
  });
}

type Item = Record<string, unknown>;

/** Any answer of messages and function calls as the events of its stream. */
export function streamedResponse(whole: Record<string, unknown>): string[] {
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const events: Item[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...(whole['output'] as Item[]).flatMap((item, output_index) => {
      const place = { item_id: item['id'], output_index };
      const inside = item['type'] === 'message' ? messageEvents(item, place) : callEvents(item, place);
      const empty = item['type'] === 'message' ? { content: [] } : { arguments: '' };
      return [
        {
          type: 'response.output_item.added',
          output_index,
          item: { ...item, status: 'in_progress', ...empty },
        },
        ...inside,
        { type: 'response.output_item.done', output_index, item },
      ];
    }),
    { type: 'response.completed', response: whole },
  ];
  return events.map(({ type, ...rest }, at) => {
    return `event: ${String(type)}\n${event({ type, sequence_number: at, ...rest })}`;
  });
}

function messageEvents(item: Item, place: Item): Item[] {
  const [part] = item['content'] as Item[];
  const at = { ...place, content_index: 0 };
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: part!['text'], logprobs: [] },
    { type: 'response.output_text.done', ...at, text: part!['text'], logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
  ];
}

function callEvents(item: Item, place: Item): Item[] {
  return [
    { type: 'response.function_call_arguments.delta', ...place, delta: item['arguments'] },
    { type: 'response.function_call_arguments.done', ...place, arguments: item['arguments'] },
  ];
}
