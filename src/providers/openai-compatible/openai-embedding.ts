import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { TimeSlicer } from '../../collections/time-slicer.js';
import { RefusedFields } from './optional-fields.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';
import { isVector } from './vectors.js';

const PATH = '/embeddings';
/** Either form of an embedding is read, and whose it is changes none. */
const OPTIONAL = { encoding_format: [], user: [] };

interface Answer {
  id?: unknown;
  data?: { index?: unknown; embedding?: unknown }[];
  usage?: { prompt_tokens?: unknown; total_tokens?: unknown };
}

function vectorOf(embedding: unknown): number[] {
  if (isVector(embedding)) return embedding;
  if (typeof embedding !== 'string' || embedding === '') throw brokenAnswer('no embedding');
  const bytes = Buffer.from(embedding, 'base64');
  const vector = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  if (bytes.length % 4 !== 0 || !isVector(vector)) throw brokenAnswer('no embedding');
  return vector;
}

/** One vector after the other, and others' work between them. */
async function read(
  parsed: Answer | null,
  { wanted, timeSlicer }: { wanted: number; timeSlicer: TimeSlicer },
): Promise<{ embeddings: number[][]; tokens: number | null; id: string | null }> {
  if (!Array.isArray(parsed?.data) || parsed.data.length !== wanted)
    throw brokenAnswer('another number of embeddings');
  const ordered = parsed.data.toSorted((a, b) => Number(a.index ?? 0) - Number(b.index ?? 0));
  const tokens = parsed.usage?.prompt_tokens ?? parsed.usage?.total_tokens;
  return {
    embeddings: await timeSlicer.map(ordered, (item) => vectorOf(item.embedding)),
    tokens: typeof tokens === 'number' && tokens >= 0 ? tokens : null,
    id: typeof parsed.id === 'string' ? parsed.id : null,
  };
}

/** Embeddings of an upstream that speaks the common convention. `providerOptions.penstock` takes `dimensions`, `user`, and `input` for token ids in the place of the values. */
export function createOpenAiCompatibleEmbedding(options: {
  transport: Transport;
  providerId: string;
  modelId: string;
  refused?: RefusedFields;
}): EmbeddingModelV4 {
  const { transport, providerId, modelId, refused = new RefusedFields() } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    maxEmbeddingsPerCall: 2048,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, providerOptions }) {
      const fields = {
        input: values,
        ...providerOptions?.['penstock'],
        model: modelId,
        encoding_format: 'float',
      };
      const bytes = await refused.send({ path: PATH, modelId, optional: () => OPTIONAL }, (without) => {
        const sent = Object.entries(fields).filter(([name]) => !without.has(name));
        return transport.postForBytes(PATH, JSON.stringify(Object.fromEntries(sent)), {
          signal: abortSignal,
        });
      });
      const answer = await read((await transport.readAnswer(bytes)) as Answer | null, {
        wanted: values.length,
        timeSlicer: transport.timeSlicer,
      });
      return {
        embeddings: answer.embeddings,
        ...(answer.tokens === null ? {} : { usage: { tokens: answer.tokens } }),
        ...(answer.id === null ? {} : { providerMetadata: { penstock: { id: answer.id } } }),
        warnings: [],
      };
    },
  };
}
