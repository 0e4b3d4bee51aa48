import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { GenerateVideoInput } from './video.input.js';
import { VideoGeneration } from './video.type.js';

@Resolver()
export class VideoResolver {
  @Metered('video')
  @Mutation(() => VideoGeneration, {
    description: 'Generates a video. With `async` (recommended) it returns the job at once.',
  })
  generateVideo(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateVideoInput, { description: 'What to generate.' }) input: GenerateVideoInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<VideoGeneration> {
    return generate<VideoGeneration>('video', context, { input, async: isAsync ?? false });
  }
}
