import type {
  ChatAnswer,
  ChatCall,
  ChatChunks,
  ChatProvider,
  Provider,
  ProviderRegistry,
} from '../../providers/index.js';
import type { AttributeValue, Span, SpanOptions, Tracer } from '../../telemetry/index.js';
import { tracedMakers } from './generation.js';

/** The registry whose models' calls are spans by OpenTelemetry's GenAI conventions. Prompts and answers are never recorded. */
export function traceProviders(providers: ProviderRegistry, tracer: Tracer): ProviderRegistry {
  const wrapped = new WeakMap<Provider, Provider>();
  const wrap = (provider: Provider): Provider => {
    const { chat } = provider;
    let traced = wrapped.get(provider);
    if (traced === undefined) {
      // By prototype: a provider may be an object with methods of its own.
      traced = Object.create(provider, {
        ...tracedMakers(provider, tracer),
        ...(chat && { chat: { value: traceChat(chat, provider.id, tracer), enumerable: true } }),
      }) as Provider;
      wrapped.set(provider, traced);
    }
    return traced;
  };
  return {
    get settings() {
      return providers.settings;
    },
    find(id) {
      const provider = providers.find(id);
      return provider === null ? null : wrap(provider);
    },
    list: () => providers.list().map(wrap),
    reload: () => providers.reload(),
    onChange: (listener) => providers.onChange(listener),
    close: () => providers.close(),
  };
}

function optionsOf(call: ChatCall, provider: string): SpanOptions {
  const attributes: Record<string, AttributeValue> = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': call.modelId,
  };
  const numbers = {
    'gen_ai.request.max_tokens': call.maxTokens,
    'gen_ai.request.temperature': call.body['temperature'],
    'gen_ai.request.top_p': call.body['top_p'],
    'gen_ai.request.frequency_penalty': call.body['frequency_penalty'],
    'gen_ai.request.presence_penalty': call.body['presence_penalty'],
  };
  for (const [name, value] of Object.entries(numbers))
    if (typeof value === 'number' && Number.isFinite(value)) attributes[name] = value;
  return { kind: 'client', attributes };
}

interface Reported {
  id?: unknown;
  model?: unknown;
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
  choices?: ({ finish_reason?: unknown } | null)[] | null;
}

/** What an answer or a chunk says about itself. */
function describe(span: Span, reported: Reported): void {
  const { id, model, usage, choices } = reported;
  const reasons = (Array.isArray(choices) ? choices : [])
    .map((choice) => choice?.finish_reason)
    .filter((reason) => typeof reason === 'string');
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  span.set({
    'gen_ai.response.id': typeof id === 'string' ? id : null,
    'gen_ai.response.model': typeof model === 'string' ? model : null,
    'gen_ai.response.finish_reasons': reasons.length > 0 ? reasons : null,
    'gen_ai.usage.input_tokens': number(usage?.prompt_tokens),
    'gen_ai.usage.output_tokens': number(usage?.completion_tokens),
  });
}

function traceChat(chat: ChatProvider, provider: string, tracer: Tracer): ChatProvider {
  return {
    complete: (call): Promise<ChatAnswer> =>
      tracer.within(`chat ${call.modelId}`, optionsOf(call, provider), async (span) => {
        const answer = await chat.complete(call);
        describe(span, answer.parsed as Reported);
        return answer;
      }),
    async stream(call): Promise<ChatChunks> {
      const span = tracer.start(`chat ${call.modelId}`, optionsOf(call, provider));
      try {
        return new TracedChunks(await tracer.enter(span, () => chat.stream(call)), span);
      } catch (error) {
        span.fail(error instanceof Error ? error.name : 'error');
        span.end();
        throw error;
      }
    },
  };
}

/** Text that is not a chunk is left to the reader of the stream. */
function reportedIn(chunk: string): Reported {
  try {
    return (JSON.parse(chunk) as Reported | null) ?? {};
  } catch {
    return {};
  }
}

/** Parses only the last chunks: only they can hold a finish reason or usage. */
class TracedChunks implements ChatChunks {
  constructor(
    private readonly chunks: ChatChunks,
    private readonly span: Span,
  ) {}

  async next(): Promise<string | null> {
    try {
      const chunk = await this.chunks.next();
      if (chunk === null) this.span.end();
      else if (/"(?:finish_reason|usage)": ?["{]/.test(chunk)) describe(this.span, reportedIn(chunk));
      return chunk;
    } catch (error) {
      this.span.fail(error instanceof Error ? error.name : 'error');
      this.span.end();
      throw error;
    }
  }

  cancel(): void {
    this.chunks.cancel();
    this.span.end();
  }
}
