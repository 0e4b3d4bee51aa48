import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { GenerateImageInput } from './image.input.js';
import { ImageGeneration } from './image.type.js';

@Resolver()
export class ImageResolver {
  @Metered('image')
  @Mutation(() => ImageGeneration, {
    description: 'Makes images; with `async` it answers at once with the job.',
  })
  generateImage(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateImageInput, { description: 'What to make.' }) input: GenerateImageInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Answer with the job at once, `data` and `usage` null, instead of waiting for the result.',
    })
    isAsync: boolean | null,
  ): Promise<ImageGeneration> {
    return generate<ImageGeneration>('image', context, { input, async: isAsync ?? false });
  }
}
