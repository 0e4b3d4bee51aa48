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
    description: 'Generates images. With `async` it returns the job at once.',
  })
  generateImage(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateImageInput, { description: 'What to generate.' }) input: GenerateImageInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<ImageGeneration> {
    return generate<ImageGeneration>('image', context, { input, async: isAsync ?? false });
  }
}
