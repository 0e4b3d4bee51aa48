import { Field, Float, ObjectType } from 'type-graphql';

@ObjectType({ simpleResolvers: true, description: 'A word and its times.' })
export class TranscriptWord {
  @Field(() => String, { description: 'The word.' })
  word!: string;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  start!: number;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  end!: number;
}

@ObjectType({ simpleResolvers: true, description: 'A segment of speech.' })
export class TranscriptSegment {
  @Field(() => Float, { description: 'Seconds from the beginning.' })
  start!: number;

  @Field(() => Float, { description: 'Seconds from the beginning.' })
  end!: number;

  @Field(() => String, { description: 'The text of the segment.' })
  text!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The speaker (SPEAKER_00 and so on), if diarization was requested.',
  })
  speaker!: string | null;

  @Field(() => [TranscriptWord], {
    nullable: true,
    description: 'The words with their times, if word granularity was requested.',
  })
  words?: TranscriptWord[] | null;
}
