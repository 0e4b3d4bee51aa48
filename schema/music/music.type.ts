import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The generated music.' })
export class GeneratedMusic {
  @Field(() => String, { description: 'A signed URL of the file.' })
  audioUrl!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class MusicUsage {
  @Field(() => Float, { description: 'Tracks charged, after the multiplier.' })
  tracksUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Tracks left in the period; -1 is unlimited.' })
  tracksRemaining!: number;
}

/** Contract 2.7 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Music and the job that makes it.' })
export class MusicGeneration {
  @Field(() => JobType, { description: 'The job that makes it. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedMusic, { nullable: true, description: 'Null if `async` was true.' })
  data!: GeneratedMusic | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => MusicUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: MusicUsage | null;
}
