import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The recording.' })
export class GeneratedSpeech {
  @Field(() => String, { description: 'A signed URL of the file.' })
  audioUrl!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Characters of the input.' })
  characterCount!: number;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class SpeechUsage {
  @Field(() => Float, { description: 'Characters charged, after the multiplier.' })
  charsUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Characters left in the period; -1 is unlimited.' })
  charsRemaining!: number;
}

/** Contract 2.8 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Speech and the job that makes it.' })
export class SpeechGeneration {
  @Field(() => JobType, { description: 'The job that makes it. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedSpeech, { nullable: true, description: 'Null if `async` was true.' })
  data!: GeneratedSpeech | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => SpeechUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: SpeechUsage | null;
}
