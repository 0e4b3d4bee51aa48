/** The upstream's answers in its dialects besides chat. They are as long as its chats, with one event for each of their chunks. */

export interface Answers {
  /** The whole answer. */
  json: Buffer;
  first: Buffer;
  middle: Buffer;
  last: Buffer;
}

const events = (...list: { type: string; [name: string]: unknown }[]): Buffer =>
  Buffer.from(list.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(''));

function responses(text: string, chunks: number): Answers {
  const item = (words: string, status: string) => ({
    id: 'msg_bench',
    type: 'message',
    status,
    role: 'assistant',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  });
  const whole = (output: object[], status: string, outputTokens: number) => ({
    id: 'resp_bench',
    object: 'response',
    created_at: 1_760_000_000,
    status,
    model: 'bench-1',
    output,
    usage: {
      input_tokens: 24,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 24 + outputTokens,
    },
  });
  const at = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const part = { type: 'output_text', text: '', annotations: [] };
  const said = ' penstock'.repeat(chunks - 2);
  return {
    json: Buffer.from(JSON.stringify(whole([item(text, 'completed')], 'completed', 60))),
    first: events(
      { type: 'response.created', response: whole([], 'in_progress', 0) },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item('', 'in_progress'), content: [] },
      },
      { type: 'response.content_part.added', ...at, part },
    ),
    middle: events({ type: 'response.output_text.delta', ...at, delta: ' penstock' }),
    last: events(
      { type: 'response.output_text.done', ...at, text: said },
      { type: 'response.content_part.done', ...at, part: { ...part, text: said } },
      { type: 'response.output_item.done', output_index: 0, item: item(said, 'completed') },
      { type: 'response.completed', response: whole([item(said, 'completed')], 'completed', chunks) },
    ),
  };
}

function messages(text: string, chunks: number): Answers {
  const whole = (content: object[], outputTokens: number) => ({
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench-1',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 24, output_tokens: outputTokens },
  });
  const delta = { type: 'text_delta', text: ' penstock' };
  return {
    json: Buffer.from(JSON.stringify(whole([{ type: 'text', text }], 60))),
    first: events(
      { type: 'message_start', message: { ...whole([], 0), stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ),
    middle: events({ type: 'content_block_delta', index: 0, delta }),
    last: events(
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: chunks },
      },
      { type: 'message_stop' },
    ),
  };
}

/** The answers, by the end of the path. */
export const dialectAnswers = (text: string, chunks: number): ReadonlyMap<string, Answers> =>
  new Map([
    ['/responses', responses(text, chunks)],
    ['/messages', messages(text, chunks)],
  ]);
