import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'The piece.' })
export class GeneratedMusic {
  @Field(() => String, { description: 'Signed.' })
  audioUrl!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
export class MusicUsage {
  @Field(() => Float, { description: 'Tracks charged, after the multiplier.' })
  tracksUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Tracks left in the period; -1 is unlimited.' })
  tracksRemaining!: number;
}

/** Contract 2.7 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Music, or the job that makes it.' })
export class MusicGeneration {
  @Field(() => JobType, { description: 'The job that makes it: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedMusic, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedMusic | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => MusicUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: MusicUsage | null;
}
