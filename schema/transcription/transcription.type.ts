import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class TranscriptWord {
  @Field(() => String)
  word!: string;

  @Field(() => Float)
  start!: number;

  @Field(() => Float)
  end!: number;
}

@ObjectType({ simpleResolvers: true })
export class TranscriptSegment {
  @Field(() => Float, { description: 'Seconds.' })
  start!: number;

  @Field(() => Float)
  end!: number;

  @Field(() => String)
  text!: string;

  @Field(() => String, { nullable: true, description: 'SPEAKER_00 …, where diarization was asked for.' })
  speaker!: string | null;

  @Field(() => [TranscriptWord], {
    nullable: true,
    description: 'Where word granularity was asked for.',
  })
  words?: TranscriptWord[] | null;
}

@ObjectType({ simpleResolvers: true })
export class Transcript {
  @Field(() => String)
  text!: string;

  @Field(() => [TranscriptSegment])
  segments!: TranscriptSegment[];

  @Field(() => String, { description: 'Code of the language that is spoken; und where unknown.' })
  language!: string;

  @Field(() => Float, { description: 'Seconds.' })
  duration!: number;

  @Field(() => String, { nullable: true, description: 'text, srt or vtt; null for json.' })
  responseFormat?: string | null;

  @Field(() => String, { nullable: true, description: 'The transcript in that format; null for json.' })
  content?: string | null;
}

@ObjectType({ simpleResolvers: true })
export class TranscriptionUsage {
  @Field(() => Float)
  secondsUsed!: number;

  @Field(() => Float)
  quotaMultiplier!: number;

  @Field(() => Float)
  secondsRemaining!: number;
}

/** Contract 2.9 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A transcript, or the job that makes it.' })
export class TranscriptionGeneration {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => Transcript, { nullable: true, description: 'Null when asynchronous.' })
  data!: Transcript | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => TranscriptionUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: TranscriptionUsage | null;
}
