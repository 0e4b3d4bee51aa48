import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class GeneratedSpeech {
  @Field(() => String, { description: 'Signed.' })
  audioUrl!: string;

  @Field(() => Float)
  durationSeconds!: number;

  @Field(() => Int, { description: 'Characters of the input.' })
  characterCount!: number;
}

@ObjectType({ simpleResolvers: true })
export class SpeechUsage {
  @Field(() => Float)
  charsUsed!: number;

  @Field(() => Float)
  quotaMultiplier!: number;

  @Field(() => Float)
  charsRemaining!: number;
}

/** Contract 2.8 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Speech, or the job that makes it.' })
export class SpeechGeneration {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedSpeech, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedSpeech | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => SpeechUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: SpeechUsage | null;
}
