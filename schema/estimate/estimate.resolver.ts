import { Arg, Ctx, Query, Resolver } from 'type-graphql';
import { invalid } from '../../src/contract/errors.js';
import type { Estimate } from '../../src/generation/generation.types.js';
import { chatBody } from '../chat/chat.shape.js';
import type { GraphqlContext } from '../context.js';
import { requireScope } from '../guard.js';
import { contractNames } from '../names.js';
import { bucketAmounts } from '../usage/usage-record.type.js';
import { EstimateInput, EstimateType } from './estimate.type.js';

/** Generations: the scope and the tool of each. */
const GENERATIONS = {
  image: ['image', 'image'],
  imageEdit: ['image', 'image_edit'],
  music: ['music', 'music'],
  speech: ['tts', 'tts'],
  transcription: ['stt', 'stt'],
  video: ['video', 'video'],
} as const;
const KINDS = ['chat', 'embeddings', ...(Object.keys(GENERATIONS) as (keyof typeof GENERATIONS)[])] as const;

function price({ call, services }: GraphqlContext, input: EstimateInput): Promise<Estimate> {
  const { chat, embeddings } = input;
  if (KINDS.filter((kind) => input[kind] != null).length !== 1)
    throw invalid(`input must name exactly one of ${KINDS.join(', ')}`, 'input');
  for (const [kind, [scope, tool]] of Object.entries(GENERATIONS)) {
    const asked = input[kind as keyof typeof GENERATIONS];
    if (asked == null) continue;
    requireScope(call, scope);
    return services.generation.estimate(tool, call, contractNames(asked));
  }
  requireScope(call, 'chat');
  if (embeddings) return services.embeddings.estimate(call, contractNames(embeddings));
  return services.chat.estimate(call, chatBody(chat as NonNullable<typeof chat>));
}

@Resolver()
export class EstimateResolver {
  /** The scope is that of the call whose price is asked. */
  @Query(() => EstimateType, { description: 'The price of a call. The call itself is not made.' })
  async estimate(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => EstimateInput, { description: 'The call whose price is wanted.' })
    input: EstimateInput,
  ): Promise<EstimateType> {
    const { model, modelTier, amounts } = await price(context, input);
    return { model, modelTier, amounts: bucketAmounts(amounts) };
  }
}
