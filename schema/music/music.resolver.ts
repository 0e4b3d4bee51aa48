import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { GenerateMusicInput } from './music.input.js';
import { MusicGeneration } from './music.type.js';

@Resolver()
export class MusicResolver {
  @Metered('music')
  @Mutation(() => MusicGeneration, {
    description: 'Makes music; with `async` it answers at once with the job.',
  })
  generateMusic(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateMusicInput, { description: 'What to make.' }) input: GenerateMusicInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Answer with the job at once, `data` and `usage` null, instead of waiting for the result.',
    })
    isAsync: boolean | null,
  ): Promise<MusicGeneration> {
    return generate<MusicGeneration>('music', context, { input, async: isAsync ?? false });
  }
}
