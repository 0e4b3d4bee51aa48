import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { camelNames, contractNames } from '../names.js';
import { RerankInput } from './rerank.input.js';
import { Reranking } from './rerank.type.js';

@Resolver()
export class RerankResolver {
  @Metered('rerank')
  @Mutation(() => Reranking, { description: 'Orders texts by how well they answer a question.' })
  async rerank(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => RerankInput, { description: 'The question and the texts.' }) input: RerankInput,
  ): Promise<Reranking> {
    return camelNames(await services.rerank.create(call, body ?? contractNames(input))) as Reranking;
  }
}
