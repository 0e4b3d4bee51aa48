import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class GeneratedVideo {
  @Field(() => String, { description: 'Signed; an MP4.' })
  url!: string;

  @Field(() => Float)
  durationSeconds!: number;

  @Field(() => Int)
  width!: number;

  @Field(() => Int)
  height!: number;
}

@ObjectType({ simpleResolvers: true })
export class VideoUsage {
  @Field(() => Float)
  creditsUsed!: number;

  @Field(() => Float)
  secondsUsed!: number;

  @Field(() => Float)
  secondsRemaining!: number;
}

/** Contract 2.6 in the envelope of 2.1 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A video, or the job that makes it.' })
export class VideoGeneration {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedVideo, { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedVideo | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => VideoUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: VideoUsage | null;
}
