import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The generated video.' })
export class GeneratedVideo {
  @Field(() => String, { description: 'A signed URL of the MP4 file.' })
  url!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class VideoUsage {
  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;

  @Field(() => Float, { description: 'Seconds charged.' })
  secondsUsed!: number;

  @Field(() => Float, { description: 'Seconds left in the period; -1 is unlimited.' })
  secondsRemaining!: number;
}

/** Contract 2.6 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A video and the job that makes it.' })
export class VideoGeneration {
  @Field(() => JobType, { description: 'The job that makes it. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => GeneratedVideo, { nullable: true, description: 'Null if `async` was true.' })
  data!: GeneratedVideo | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => VideoUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: VideoUsage | null;
}
