import { randomKey } from '@penstock/client';
import type { Api } from '../data/api.js';
import { toFault } from '../data/fault.js';
import { graphql, type ResultOf } from '../data/graphql.js';
import { asAmount, inDigits } from '../ui/format.js';
import type { ChatSettings, Growing, ToolCall, Turn } from './conversation.types.js';

const CHAT = graphql(`
  subscription PlayChat($input: ChatCompletionInput!, $idempotencyKey: String, $after: Int) {
    chatCompletion(input: $input, idempotencyKey: $idempotencyKey, after: $after) {
      sequence
      id
      model
      choices {
        delta {
          content
          reasoning
          toolCalls
        }
        finishReason
      }
      usage {
        promptTokens
        completionTokens
        creditsUsed
      }
    }
  }
`);

const START = graphql(`
  mutation PlayResponse($input: ModelResponseInput!) {
    startResponse(input: $input) {
      id
    }
  }
`);

const EVENTS = graphql(`
  subscription PlayResponseEvents($id: ID!, $after: Int) {
    responseEvents(id: $id, after: $after) {
      sequence
      type
      event
    }
  }
`);

const CANCEL = graphql(`
  mutation PlayCancel($id: ID!) {
    cancelResponse(id: $id) {
      id
      status
    }
  }
`);

type Chunk = ResultOf<typeof CHAT>['chatCompletion'];

const NOTES: Record<string, string> = {
  length: 'Cut: the answer reached its longest',
  content_filter: 'Cut by the content filter',
};

/** The fields that both protocols have. @throws SyntaxError if `tools` is not valid JSON */
function shared({ model, temperature, tools }: ChatSettings): Record<string, unknown> {
  return {
    ...(model === '' ? {} : { model }),
    ...(temperature === '' ? {} : { temperature: Number(temperature) }),
    ...(tools.trim() === '' ? {} : { tools: JSON.parse(tools) as unknown }),
  };
}

function contentOf({ content, images = [] }: Turn): unknown {
  if (images.length === 0) return content;
  const pictures = images.map((url) => ({ type: 'image_url', image_url: { url } }));
  return [...(content === '' ? [] : [{ type: 'text', text: content }]), ...pictures];
}

const asWire = ({ id, name, arguments: text }: ToolCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

/** The turns to send with the next question. An answer that failed before its first word is left out. */
function messagesOf(turns: readonly Turn[], system: string): object[] {
  const said = turns.filter(({ content, images, toolCalls }) => content !== '' || images || toolCalls);
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system.trim() }]),
    ...said.map((turn) => ({
      role: turn.role,
      content: contentOf(turn),
      ...(turn.toolCalls === undefined ? {} : { toolCalls: turn.toolCalls.map(asWire) }),
      ...(turn.toolCallId === undefined ? {} : { toolCallId: turn.toolCallId }),
    })),
  ];
}

/** The input of a chat completion. @throws SyntaxError if `tools` is not valid JSON */
export function chatInput(turns: readonly Turn[], settings: ChatSettings): Record<string, unknown> {
  const { system, maxTokens, effort, webSearch } = settings;
  return {
    messages: messagesOf(turns, system),
    ...shared(settings),
    ...(maxTokens === '' ? {} : { maxTokens: Number(maxTokens) }),
    ...(effort === '' ? {} : { reasoningEffort: effort }),
    ...(webSearch ? { webSearch } : {}),
  };
}

interface CallPart {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** Adds the parts of tool calls that a chunk contains. The index of a part says which call it belongs to. */
function grownCalls(calls: ToolCall[] | undefined, parts: unknown): ToolCall[] | undefined {
  if (!Array.isArray(parts)) return calls;
  const grown = [...(calls ?? [])];
  for (const { index = 0, id = '', function: part = {} } of parts as CallPart[]) {
    const known = grown[index] ?? { id: '', name: '', arguments: '' };
    grown[index] = {
      id: known.id || id,
      name: known.name + (part.name ?? ''),
      arguments: known.arguments + (part.arguments ?? ''),
    };
  }
  return grown;
}

function grown(turn: Turn, { model, choices: [choice], usage }: Chunk): Turn {
  const { content, reasoning, toolCalls } = choice?.delta ?? {};
  const note = NOTES[choice?.finishReason ?? ''];
  const calls = grownCalls(turn.toolCalls, toolCalls);
  return {
    ...turn,
    model,
    content: turn.content + (content ?? ''),
    ...(reasoning ? { reasoning: (turn.reasoning ?? '') + reasoning } : {}),
    ...(calls && { toolCalls: calls }),
    ...(usage && { cost: costOf(usage.promptTokens, usage.completionTokens, usage.creditsUsed) }),
    ...(note !== undefined && { note }),
  };
}

const costOf = (input: number, output: number, credits: number | undefined): string =>
  [
    `${inDigits(input)} + ${inDigits(output)} tokens`,
    ...(credits === undefined ? [] : [asAmount(credits, 'credits')]),
  ].join(' · ');

const CANCEL_CHAT = graphql(`
  mutation PlayCancelChat($idempotencyKey: String!) {
    cancelResponseByKey(idempotencyKey: $idempotencyKey) {
      response {
        id
        status
      }
    }
  }
`);

/** Cancels an answer that would continue without a reader, so that nobody pays for unread text. If it has already ended, that is not an error. */
function cancel(api: Api, id: string | undefined): void {
  if (id !== undefined) api.request(CANCEL, { id }).catch(() => undefined);
}

interface Asked {
  turns: readonly Turn[];
  settings: ChatSettings;
}

/** Requests a chat completion, and joins it again after a lost connection. @returns a function that ends it */
export function runChat(api: Api, { turns, settings }: Asked, { change, fail, done }: Growing): () => void {
  const idempotencyKey = randomKey();
  const leave = api.follow(
    CHAT,
    { input: chatInput(turns, settings) as never, idempotencyKey },
    {
      next: ({ chatCompletion }) => change((last) => grown(last, chatCompletion)),
      fail,
      done,
    },
  );
  return () => {
    leave();
    api.request(CANCEL_CHAT, { idempotencyKey }).catch(() => undefined);
  };
}

/** Converts a turn to items of the Responses convention. */
function itemsOf({ role, content, images = [], toolCallId }: Turn): object[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: toolCallId, output: content }];
  const text = { type: role === 'user' ? 'input_text' : 'output_text', text: content };
  const pictures = images.map((url) => ({ type: 'input_image', image_url: url }));
  return [{ type: 'message', role, content: [...(content === '' ? [] : [text]), ...pictures] }];
}

/** The input of a response: the turns since the last stored response. @throws SyntaxError if `tools` is not valid JSON */
export function responseInput(turns: readonly Turn[], settings: ChatSettings): Record<string, unknown> {
  const { system, maxTokens, effort } = settings;
  const at = turns.findLastIndex(({ responseId }) => responseId !== undefined);
  const previous = turns[at]?.responseId;
  return {
    input: turns.slice(at + 1).flatMap(itemsOf),
    ...shared(settings),
    ...(previous === undefined ? {} : { previousResponseId: previous }),
    ...(system.trim() === '' ? {} : { instructions: system.trim() }),
    ...(maxTokens === '' ? {} : { maxOutputTokens: Number(maxTokens) }),
    ...(effort === '' ? {} : { reasoning: { effort, summary: 'auto' } }),
  };
}

interface ResponseEvent {
  delta?: string;
  item?: { type?: string; call_id?: string; name?: string; arguments?: string };
  response?: {
    id?: string;
    model?: string;
    credits_used?: number;
    usage?: { input_tokens: number; output_tokens: number } | null;
    error?: { message?: string } | null;
    incomplete_details?: { reason?: string } | null;
  };
}

function afterEvent(turn: Turn, type: string, event: ResponseEvent): Turn {
  const { delta = '', item, response } = event;
  if (type === 'response.output_text.delta') return { ...turn, content: turn.content + delta };
  if (/^response\.reasoning\w*\.delta$/.test(type) || type === 'response.reasoning_summary_text.delta')
    return { ...turn, reasoning: (turn.reasoning ?? '') + delta };
  if (type === 'response.output_item.done' && item?.type === 'function_call') {
    const call = { id: item.call_id ?? '', name: item.name ?? '', arguments: item.arguments ?? '' };
    return { ...turn, toolCalls: [...(turn.toolCalls ?? []), call] };
  }
  if (response === undefined || !/^response\.(completed|incomplete|failed)$/.test(type)) return turn;
  const { id, model, usage, error, incomplete_details: cut, credits_used: credits } = response;
  const note = error?.message ?? cut?.reason;
  return {
    ...turn,
    ...(id === undefined ? {} : { responseId: id }),
    ...(model === undefined ? {} : { model }),
    ...(usage ? { cost: costOf(usage.input_tokens, usage.output_tokens, credits) } : {}),
    ...(note === undefined ? {} : { note }),
  };
}

/** Starts a response in the background, and follows its events also after lost connections. @returns a function that ends it */
export function runResponse(
  api: Api,
  { turns, settings }: Asked,
  { change, fail, done }: Growing,
): () => void {
  let id: string | undefined;
  let leave: (() => void) | undefined;
  let hasLeft = false;
  api.request(START, { input: responseInput(turns, settings) as never }).then(
    ({ startResponse }) => {
      id = startResponse.id;
      if (hasLeft) return cancel(api, id);
      leave = api.follow(
        EVENTS,
        { id },
        {
          next: ({ responseEvents: { type, event } }) =>
            change((last) => afterEvent(last, type, event as ResponseEvent)),
          fail,
          done,
        },
      );
    },
    (thrown) => !hasLeft && fail(toFault(thrown)),
  );
  return () => {
    hasLeft = true;
    leave?.();
    cancel(api, id);
  };
}
