import type { Provider } from '../../providers/index.js';
import type { AttributeValue, Span, SpanOptions, Tracer } from '../../telemetry/index.js';

/** A kind of model besides chat: the method that does its work, and what the conventions call that. */
interface Kind {
  make: 'image' | 'edit' | 'video' | 'music' | 'speech' | 'transcription' | 'embedding';
  method: 'doGenerate' | 'edit' | 'generate' | 'transcribe' | 'doEmbed';
  operation: 'generate_content' | 'embeddings';
  /** `gen_ai.output.type`: `image`, `speech` and `text` are the conventions' words, the others ours. */
  output: 'image' | 'video' | 'music' | 'speech' | 'text' | null;
}

const KINDS: readonly Kind[] = [
  { make: 'image', method: 'doGenerate', operation: 'generate_content', output: 'image' },
  { make: 'edit', method: 'edit', operation: 'generate_content', output: 'image' },
  { make: 'video', method: 'doGenerate', operation: 'generate_content', output: 'video' },
  { make: 'music', method: 'generate', operation: 'generate_content', output: 'music' },
  { make: 'speech', method: 'doGenerate', operation: 'generate_content', output: 'speech' },
  { make: 'transcription', method: 'transcribe', operation: 'generate_content', output: 'text' },
  { make: 'embedding', method: 'doEmbed', operation: 'embeddings', output: null },
];

type Work = (options: Record<string, unknown>) => PromiseLike<unknown>;
type Make = (modelId: string) => object;

/** The provider's makers of models, each of whose work is a span. Prompts, inputs and results are never recorded. */
export function tracedMakers(provider: Provider, tracer: Tracer): PropertyDescriptorMap {
  return Object.fromEntries(
    KINDS.filter(({ make }) => provider[make] !== undefined).map((kind) => [
      kind.make,
      {
        enumerable: true,
        value: (modelId: string) => {
          const model = (provider[kind.make] as Make).call(provider, modelId);
          return tracedModel(model, kind, { modelId, provider: provider.id, tracer });
        },
      },
    ]),
  );
}

interface Called {
  modelId: string;
  provider: string;
  tracer: Tracer;
}

/** The same model to everybody but the caller of its work: whatever else it has keeps its own `this`. */
function tracedModel(model: object, kind: Kind, { modelId, provider, tracer }: Called): object {
  const work = (Reflect.get(model, kind.method) as Work).bind(model);
  const traced: Work = (options) =>
    tracer.within(
      `${kind.operation} ${modelId}`,
      optionsOf(kind, { modelId, provider }, options),
      async (span) => {
        const result = await work(options);
        describe(span, result);
        return result;
      },
    );
  return new Proxy(model, {
    get(target, property) {
      if (property === kind.method) return traced;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function optionsOf(
  { operation, output }: Kind,
  { modelId, provider }: Omit<Called, 'tracer'>,
  options: Record<string, unknown>,
): SpanOptions {
  const attributes: Record<string, AttributeValue> = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': modelId,
  };
  if (output !== null) attributes['gen_ai.output.type'] = output;
  const { n, seed } = options;
  if (typeof n === 'number' && n !== 1) attributes['gen_ai.request.choice.count'] = n;
  if (typeof seed === 'number') attributes['gen_ai.request.seed'] = seed;
  return { kind: 'client', attributes };
}

interface Reported {
  response?: { id?: unknown; modelId?: unknown };
  usage?: { tokens?: unknown; inputTokens?: unknown; outputTokens?: unknown };
  embeddings?: unknown[][];
}

/** What a result says about itself. */
function describe(span: Span, result: unknown): void {
  const { response, usage, embeddings } = (result ?? {}) as Reported;
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  span.set({
    'gen_ai.response.id': text(response?.id),
    'gen_ai.response.model': text(response?.modelId),
    'gen_ai.usage.input_tokens': number(usage?.inputTokens ?? usage?.tokens),
    'gen_ai.usage.output_tokens': number(usage?.outputTokens),
    'gen_ai.embeddings.dimension.count': number(embeddings?.[0]?.length),
  });
}
