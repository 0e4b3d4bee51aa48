import { Extensions, Field, Float, InputType } from 'type-graphql';
import { SpeechFormat } from '../enums.js';
import { SEED_INPUTS, modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({ description: 'The text to speak and the voice.' })
export class CreateSpeechInput {
  @Extensions({ jsonSchema: nonBlank(10_000) })
  @Field(() => String, { description: 'The text to speak, up to 10,000 characters.' })
  input!: string;

  @Extensions({ jsonSchema: modelId('sandbox/tts-standard') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a speech model; default: see `models(type: tts)`.',
  })
  model?: string | null;

  @Extensions({
    jsonSchema: {
      maxLength: 200,
      default: 'nova',
      examples: ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'],
    },
  })
  @Field(() => String, {
    nullable: true,
    description:
      'alloy, echo, fable, onyx, nova (default) or shimmer; any name if `referenceAudio` is given.',
  })
  voice?: string | null;

  @Extensions({ jsonSchema: { minimum: 0.25, maximum: 4, default: 1 } })
  @Field(() => Float, { nullable: true, description: 'The speed, 0.25 to 4, default 1.' })
  speed?: number | null;

  @Extensions({ jsonSchema: { default: 'mp3' } })
  @Field(() => SpeechFormat, { nullable: true, description: 'Default mp3.' })
  responseFormat?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A sample of the voice to imitate: URL, data: URL or base64, up to 25 MB.',
  })
  referenceAudio?: string | null;

  @Extensions({ jsonSchema: { maxLength: 10_000 } })
  @Field(() => String, { nullable: true, description: 'The words that are spoken in the sample.' })
  referenceText?: string | null;

  @Extensions({ jsonSchema: SEED_INPUTS })
  @Field(() => Json, { nullable: true, description: 'Further parameters of the model, such as `seed`.' })
  modelInputs?: Record<string, unknown> | null;
}
