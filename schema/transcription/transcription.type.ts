import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'A word and its times.' })
export class TranscriptWord {
  @Field(() => String, { description: 'The word.' })
  word!: string;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  start!: number;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  end!: number;
}

@ObjectType({ simpleResolvers: true, description: 'A stretch of speech.' })
export class TranscriptSegment {
  @Field(() => Float, { description: 'Seconds from the beginning.' })
  start!: number;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  end!: number;

  @Field(() => String, { description: 'What is said in it.' })
  text!: string;

  @Field(() => String, { nullable: true, description: 'SPEAKER_00 …, where diarization was asked for.' })
  speaker!: string | null;

  @Field(() => [TranscriptWord], {
    nullable: true,
    description: 'Where word granularity was asked for.',
  })
  words?: TranscriptWord[] | null;
}

@ObjectType({ simpleResolvers: true, description: 'What is said in a recording.' })
export class Transcript {
  @Field(() => String, { description: 'All of it.' })
  text!: string;

  @Field(() => [TranscriptSegment], { description: 'In order of time.' })
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

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
export class TranscriptionUsage {
  @Field(() => Float, { description: 'Seconds charged, rounded up, after the multiplier.' })
  secondsUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Seconds left in the period; -1 is unlimited.' })
  secondsRemaining!: number;
}

/** Contract 2.9 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'A transcript, or the job that makes it.' })
export class TranscriptionGeneration {
  @Field(() => JobType, { description: 'The job that makes it: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => Transcript, { nullable: true, description: 'Null when asynchronous.' })
  data!: Transcript | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => TranscriptionUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: TranscriptionUsage | null;
}
