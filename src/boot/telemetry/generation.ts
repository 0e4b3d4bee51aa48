import { KINDS } from '../../contract/words.js';
import type { Provider } from '../../providers/index.js';
import type { AttributeValue, Span, SpanOptions, Tracer } from '../../telemetry/index.js';

/**
 * Kinds of models that do their work in one call. Of `gen_ai.output.type`, `image`, `speech` and `text` are OpenTelemetry's values; the others
 * are our own.
 */
type Kind = Exclude<(typeof KINDS)[number], { capability: null }>;
const CALLED: readonly Kind[] = KINDS.filter((kind): kind is Kind => kind.capability !== null);

type Work = (options: Record<string, unknown>) => PromiseLike<unknown>;
type Make = (modelId: string) => object;

/** Wraps the provider's model factories so that each model call is a span. Prompts, inputs and results are never recorded. */
export function tracedMakers(provider: Provider, tracer: Tracer): PropertyDescriptorMap {
  return Object.fromEntries(
    CALLED.filter(({ name }) => provider[name] !== undefined).map((kind) => [
      kind.name,
      {
        enumerable: true,
        value: (modelId: string) => {
          const model = (provider[kind.name] as Make).call(provider, modelId);
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

/** A proxy of the model that traces its main method. All other members keep their own `this`. */
function tracedModel(model: object, kind: Kind, { modelId, provider, tracer }: Called): object {
  const { method, operation } = kind.capability;
  const work = (Reflect.get(model, method) as Work).bind(model);
  const traced: Work = (options) =>
    tracer.within(
      `${operation} ${modelId}`,
      optionsOf(kind, { modelId, provider }, options),
      async (span) => {
        const result = await work(options);
        describe(span, result);
        return result;
      },
    );
  return new Proxy(model, {
    get(target, property) {
      if (property === method) return traced;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function optionsOf(
  { capability: { operation, output } }: Kind,
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
