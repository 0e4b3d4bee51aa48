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
    description: 'Says a text; with `async` it answers at once with the job.',
  })
  createSpeech(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateSpeechInput, { description: 'What to say, and how.' }) input: CreateSpeechInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Answer with the job at once, `data` and `usage` null, instead of waiting for the result.',
    })
    isAsync: boolean | null,
  ): Promise<SpeechGeneration> {
    return generate<SpeechGeneration>('tts', context, { input, async: isAsync ?? false });
  }
}
