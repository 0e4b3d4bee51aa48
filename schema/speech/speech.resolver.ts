import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { CreateSpeechInput } from './speech.input.js';
import { SpeechGeneration } from './speech.type.js';

@Resolver()
export class SpeechResolver {
  @Metered('tts')
  @Mutation(() => SpeechGeneration, {
    description: 'Speaks a text. With `async` it returns the job at once.',
  })
  createSpeech(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateSpeechInput, { description: 'The text to speak and the voice.' })
    input: CreateSpeechInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<SpeechGeneration> {
    return generate<SpeechGeneration>('tts', context, { input, async: isAsync ?? false });
  }
}
