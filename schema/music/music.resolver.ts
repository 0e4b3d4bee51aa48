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
    description: 'Generates music. With `async` it returns the job at once.',
  })
  generateMusic(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => GenerateMusicInput, { description: 'What to generate.' }) input: GenerateMusicInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<MusicGeneration> {
    return generate<MusicGeneration>('music', context, { input, async: isAsync ?? false });
  }
}
