import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'The film.' })
export class GeneratedVideo {
  @Field(() => String, { description: 'Signed; an MP4.' })
  url!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
export class VideoUsage {
  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;

  @Field(() => Float, { description: 'Seconds charged.' })
  secondsUsed!: number;

  @Field(() => Float, { description: 'Seconds left in the period; -1 is unlimited.' })
  secondsRemaining!: number;
}

/** Contract 2.6 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A video, or the job that makes it.' })
export class VideoGeneration {
  @Field(() => JobType, { description: 'The job that makes it: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedVideo, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedVideo | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => VideoUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: VideoUsage | null;
}
