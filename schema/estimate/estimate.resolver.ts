import { Arg, Ctx, Query, Resolver } from 'type-graphql';
import { invalid } from '../../src/contract/errors.js';
import { KINDS } from '../../src/contract/words.js';
import type { Estimate } from '../../src/generation/generation.types.js';
import type { ChatCompletionInput } from '../chat/chat.input.js';
import { chatBody } from '../chat/chat.shape.js';
import type { GraphqlContext } from '../context.js';
import { requireScope } from '../guard.js';
import { contractNames } from '../names.js';
import { bucketAmounts } from '../usage/usage-record.type.js';
import { EstimateInput, EstimateType } from './estimate.type.js';

function price({ call, services }: GraphqlContext, input: EstimateInput): Promise<Estimate> {
  const [kind, ...others] = KINDS.filter(({ estimate }) => input[estimate] != null);
  if (kind === undefined || others.length > 0) {
    const names = KINDS.map(({ estimate }) => estimate).toSorted();
    throw invalid(`input must name exactly one of ${names.join(', ')}`, 'input');
  }
  requireScope(call, kind.scope);
  if (kind.name === 'chat') return services.chat.estimate(call, chatBody(input.chat as ChatCompletionInput));
  const body = contractNames(input[kind.estimate] as object);
  if (kind.name === 'rerank') return Promise.resolve(services.rerank.estimate(call, body));
  if (kind.job === null) return services.embeddings.estimate(call, body);
  return services.generation.estimate(kind.name, call, body);
}

@Resolver()
export class EstimateResolver {
  /** It needs the scope of the call whose price is requested. */
  @Query(() => EstimateType, { description: 'The price of a call. The call itself is not made.' })
  async estimate(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => EstimateInput, { description: 'The call whose price is requested.' })
    input: EstimateInput,
  ): Promise<EstimateType> {
    const { model, modelTier, amounts } = await price(context, input);
    return { model, modelTier, amounts: bucketAmounts(amounts) };
  }
}
