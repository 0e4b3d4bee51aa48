import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { camelNames, contractNames } from '../names.js';
import { CreateEmbeddingsInput } from './embedding.input.js';
import type { Embedding, EmbeddingUsage } from './embedding.type.js';
import { EmbeddingList } from './embedding.type.js';

@Resolver()
export class EmbeddingResolver {
  @Metered('embedding')
  @Mutation(() => EmbeddingList, { description: 'Turns texts into vectors.' })
  async createEmbeddings(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => CreateEmbeddingsInput, { description: 'The texts.' }) input: CreateEmbeddingsInput,
  ): Promise<EmbeddingList> {
    const answer = await services.embeddings.create(call, body ?? contractNames(input));
    return {
      object: answer['object'] as string,
      data: answer['data'] as Embedding[],
      model: answer['model'] as string,
      modelTier: answer['model_tier'] as string,
      usage: camelNames(answer['usage']) as EmbeddingUsage,
    };
  }
}
