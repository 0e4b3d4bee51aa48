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
    description: 'Makes a video; with `async` (recommended) it answers at once with the job.',
  })
  generateVideo(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateVideoInput, { description: 'What to make.' }) input: GenerateVideoInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Answer with the job at once, `data` and `usage` null, instead of waiting for the result.',
    })
    isAsync: boolean | null,
  ): Promise<VideoGeneration> {
    return generate<VideoGeneration>('video', context, { input, async: isAsync ?? false });
  }
}
