import { Extensions, Field, Float, InputType } from 'type-graphql';
import { MusicFormat, MusicMode } from '../enums.js';
import { SEED_INPUTS, modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({ description: 'The music to generate.' })
export class GenerateMusicInput {
  @Extensions({ jsonSchema: nonBlank(32_000) })
  @Field(() => String, { description: 'What the music should sound like.' })
  prompt!: string;

  @Extensions({ jsonSchema: modelId('sandbox/music-standard') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a music model; default: see `models(type: music)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 60, default: 30 } })
  @Field(() => Float, {
    nullable: true,
    description: 'The length. Default 30; at most 47 with the default model and 60 with other models.',
  })
  durationSeconds?: number | null;

  @Extensions({ jsonSchema: { default: 'text_to_music' } })
  @Field(() => MusicMode, { nullable: true, description: 'Default text_to_music.' })
  mode?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The recording that audio_to_audio varies: URL, data: URL or base64, up to 25 MB.',
  })
  sourceAudio?: string | null;

  @Extensions({ jsonSchema: { default: 'mp3' } })
  @Field(() => MusicFormat, { nullable: true, description: 'Default mp3.' })
  outputFormat?: string | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'What the music should not have.' })
  negativePrompt?: string | null;

  @Extensions({ jsonSchema: SEED_INPUTS })
  @Field(() => Json, { nullable: true, description: 'Further parameters of the model, such as `seed`.' })
  modelInputs?: Record<string, unknown> | null;
}
