import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class GeneratedMusic {
  @Field(() => String, { description: 'Signed.' })
  audioUrl!: string;

  @Field(() => Float)
  durationSeconds!: number;
}

@ObjectType({ simpleResolvers: true })
export class MusicUsage {
  @Field(() => Float)
  tracksUsed!: number;

  @Field(() => Float)
  quotaMultiplier!: number;

  @Field(() => Float)
  tracksRemaining!: number;
}

/** Contract 2.7 in the envelope of 2.1 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Music, or the job that makes it.' })
export class MusicGeneration {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedMusic, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedMusic | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => MusicUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: MusicUsage | null;
}
