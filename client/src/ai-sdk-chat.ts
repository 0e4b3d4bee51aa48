import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { ApiCallError, eventsOf, headersOf, send } from './ai-sdk-http.js';
import type { Endpoint } from './ai-sdk-http.js';
import { bodyOf } from './ai-sdk-prompt.js';

interface ToolCall {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface Said {
  content?: string | null;
  reasoning_content?: string | null;
  tool_calls?: ToolCall[];
}

interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number };
  completion_tokens_details?: { reasoning_tokens?: number };
}

interface Answer {
  id: string;
  created: number;
  model: string;
  choices: { message?: Said; delta?: Said; finish_reason?: string | null }[];
  usage?: (Usage & Record<string, never>) | null;
  error?: { message?: string };
}

const REASONS: Record<string, LanguageModelV4FinishReason['unified']> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
};

const reasonOf = (raw: string | null | undefined): LanguageModelV4FinishReason => ({
  unified: raw == null ? 'other' : (REASONS[raw] ?? 'other'),
  raw: raw ?? undefined,
});

function usageOf(usage: Answer['usage']): LanguageModelV4Usage {
  const { prompt_tokens: input, completion_tokens: output } = usage ?? {};
  const cacheRead = usage?.prompt_tokens_details?.cached_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    inputTokens: {
      total: input,
      noCache: input === undefined ? undefined : input - (cacheRead ?? 0),
      cacheRead,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: output,
      text: output === undefined ? undefined : output - (reasoning ?? 0),
      reasoning,
    },
    ...(usage == null ? {} : { raw: usage }),
  };
}

const metadataOf = ({ id, created, model }: Answer) => ({
  id,
  timestamp: new Date(created * 1000),
  modelId: model,
});

function contentOf({
  content,
  reasoning_content: thought,
  tool_calls: calls = [],
}: Said): LanguageModelV4Content[] {
  return [
    ...(thought ? [{ type: 'reasoning' as const, text: thought }] : []),
    ...(content ? [{ type: 'text' as const, text: content }] : []),
    ...calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.id ?? '',
      toolName: call.function?.name ?? '',
      input: call.function?.arguments ?? '{}',
    })),
  ];
}

/** Converts the chunks of a stream to the AI SDK's stream parts. */
class Parts {
  private open: 'text' | 'reasoning' | null = null;
  private blocks = 0;
  private readonly calls = new Map<number, { id: string; name: string; input: string }>();
  private reason: string | null = null;
  private usage: Answer['usage'] = null;
  private isBegun = false;

  *take(chunk: Answer): Generator<LanguageModelV4StreamPart> {
    if (!this.isBegun) yield { type: 'response-metadata', ...metadataOf(chunk) };
    this.isBegun = true;
    this.usage = chunk.usage ?? this.usage;
    const [choice] = chunk.choices;
    if (choice === undefined) return;
    this.reason = choice.finish_reason ?? this.reason;
    const { content, reasoning_content: thought, tool_calls: calls = [] } = choice.delta ?? {};
    if (thought) yield* this.text('reasoning', thought);
    if (content) yield* this.text('text', content);
    for (const call of calls) yield* this.call(call);
  }

  *end(): Generator<LanguageModelV4StreamPart> {
    yield* this.close();
    for (const { id, name, input } of this.calls.values()) {
      yield { type: 'tool-input-end', id };
      yield { type: 'tool-call', toolCallId: id, toolName: name, input: input === '' ? '{}' : input };
    }
    yield { type: 'finish', finishReason: reasonOf(this.reason), usage: usageOf(this.usage) };
  }

  private *text(kind: 'text' | 'reasoning', delta: string): Generator<LanguageModelV4StreamPart> {
    if (this.open !== kind) {
      yield* this.close();
      this.open = kind;
      this.blocks += 1;
      yield { type: `${kind}-start`, id: `${this.blocks}` };
    }
    yield { type: `${kind}-delta`, id: `${this.blocks}`, delta };
  }

  private *close(): Generator<LanguageModelV4StreamPart> {
    if (this.open !== null) yield { type: `${this.open}-end`, id: `${this.blocks}` };
    this.open = null;
  }

  private *call({ index = 0, id, function: asked }: ToolCall): Generator<LanguageModelV4StreamPart> {
    yield* this.close();
    let known = this.calls.get(index);
    if (known === undefined) {
      known = { id: id ?? `call_${index}`, name: asked?.name ?? '', input: '' };
      this.calls.set(index, known);
      yield { type: 'tool-input-start', id: known.id, toolName: known.name };
    }
    const delta = asked?.arguments ?? '';
    known.input += delta;
    if (delta !== '') yield { type: 'tool-input-delta', id: known.id, delta };
  }
}

async function* partsOf(response: Response, url: string): AsyncGenerator<LanguageModelV4StreamPart> {
  const parts = new Parts();
  yield { type: 'stream-start', warnings: [] };
  for await (const data of eventsOf(response)) {
    const chunk = JSON.parse(data) as Answer;
    if (chunk.error !== undefined) {
      const message = chunk.error.message ?? 'Generation failed';
      yield {
        type: 'error',
        error: new ApiCallError(message, { url, requestBodyValues: {}, statusCode: 500 }),
      };
      return;
    }
    yield* parts.take(chunk);
  }
  yield* parts.end();
}

/** Makes a chat model with the interface that the AI SDK expects. */
export function chatModel(endpoint: Endpoint, modelId: string): LanguageModelV4 {
  const ask = (options: LanguageModelV4CallOptions, more: object) =>
    send(endpoint, '/chat/completions', {
      body: { ...bodyOf(modelId, options), ...more },
      abortSignal: options.abortSignal,
      headers: options.headers,
    });
  return {
    specificationVersion: 'v4',
    provider: 'penstock.chat',
    modelId,
    supportedUrls: { 'image/*': [/^https?:\/\//] },
    async doGenerate(options) {
      const response = await ask(options, {});
      const answer = (await response.json()) as Answer;
      const [choice] = answer.choices;
      return {
        content: contentOf(choice?.message ?? {}),
        finishReason: reasonOf(choice?.finish_reason),
        usage: usageOf(answer.usage),
        warnings: [],
        response: { ...metadataOf(answer), headers: headersOf(response), body: answer },
      };
    },
    async doStream(options) {
      const response = await ask(options, { stream: true, stream_options: { include_usage: true } });
      const parts = partsOf(response, response.url);
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async pull(controller) {
          try {
            const { done, value } = await parts.next();
            if (done === true) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            controller.error(error);
          }
        },
        cancel: async () => void (await parts.return(undefined)),
      });
      return { stream, response: { headers: headersOf(response) } };
    },
  };
}
