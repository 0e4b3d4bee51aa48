import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'The recording.' })
export class GeneratedSpeech {
  @Field(() => String, { description: 'Signed.' })
  audioUrl!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Characters of the input.' })
  characterCount!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
export class SpeechUsage {
  @Field(() => Float, { description: 'Characters charged, after the multiplier.' })
  charsUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Characters left in the period; -1 is unlimited.' })
  charsRemaining!: number;
}

/** Contract 2.8 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Speech, or the job that makes it.' })
export class SpeechGeneration {
  @Field(() => JobType, { description: 'The job that makes it: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedSpeech, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedSpeech | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => SpeechUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: SpeechUsage | null;
}
