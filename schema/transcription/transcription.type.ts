import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';
import { ModelTier, TranscriptionFormat } from '../enums.js';
import { TranscriptSegment } from './segment.type.js';

@ObjectType({ simpleResolvers: true, description: 'The transcript of a recording.' })
export class Transcript {
  @Field(() => String, { description: 'The whole text.' })
  text!: string;

  @Field(() => [TranscriptSegment], { description: 'In order of time.' })
  segments!: TranscriptSegment[];

  @Field(() => String, { description: 'The code of the spoken language; und if unknown.' })
  language!: string;

  @Field(() => Float, { description: 'Seconds.' })
  duration!: number;

  @Field(() => TranscriptionFormat, {
    nullable: true,
    description: 'The format of `content`: text, srt or vtt; null for json.',
  })
  responseFormat?: string | null;

  @Field(() => String, { nullable: true, description: 'The transcript in that format; null for json.' })
  content?: string | null;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class TranscriptionUsage {
  @Field(() => Float, { description: 'Seconds charged, rounded up, after the multiplier.' })
  secondsUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Seconds left in the period; -1 is unlimited.' })
  secondsRemaining!: number;
}

/** Contract 2.9 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A transcript and the job that makes it.' })
export class TranscriptionGeneration {
  @Field(() => JobType, { description: 'The job that makes it. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => Transcript, { nullable: true, description: 'Null if `async` was true.' })
  data!: Transcript | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => TranscriptionUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: TranscriptionUsage | null;
}
