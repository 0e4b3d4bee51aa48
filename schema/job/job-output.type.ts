import { createUnionType, Field, Float, Int, ObjectType } from 'type-graphql';
import type { Job } from '../../src/jobs/jobs.types.js';
import { MediaFormat } from '../enums.js';
import { camelNames } from '../names.js';
import { TranscriptSegment } from '../transcription/segment.type.js';

// A field of these types has one name and one type in all of them, so that one selection reads them side by side (beyond 14.4).

@ObjectType({ simpleResolvers: true, description: "A picture of a job's output." })
export class JobImage {
  @Field(() => String, { description: 'A signed URL of the file.' })
  url!: string;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `image`.' })
export class ImageOutput {
  @Field(() => [JobImage], { description: 'In the order of their creation.' })
  images!: JobImage[];
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `image_edit`.' })
export class ImageEditOutput {
  @Field(() => [JobImage], { description: 'The edited picture.' })
  images!: JobImage[];
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `video`.' })
export class VideoOutput {
  @Field(() => String, { description: 'A signed URL of the MP4 file.' })
  url!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `music`.' })
export class MusicOutput {
  @Field(() => String, { description: 'A signed URL of the file.' })
  url!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `tts`.' })
export class SpeechOutput {
  @Field(() => String, { description: 'A signed URL of the file.' })
  url!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => Int, { description: 'Characters of the text.' })
  characterCount!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The output of a job of the tool `stt`.' })
export class TranscriptionOutput {
  @Field(() => String, { description: 'The whole text.' })
  text!: string;

  @Field(() => [TranscriptSegment], { description: 'In order of time.' })
  segments!: TranscriptSegment[];

  @Field(() => String, { description: 'The code of the spoken language; und if unknown.' })
  language!: string;

  @Field(() => Float, { description: 'Seconds.' })
  durationSeconds!: number;

  @Field(() => MediaFormat, {
    nullable: true,
    description: 'The format of `content`: text, srt or vtt; null for json.',
  })
  format!: string | null;

  @Field(() => String, { nullable: true, description: 'The transcript in that format; null for json.' })
  content!: string | null;
}

const KINDS = {
  image: ImageOutput,
  image_edit: ImageEditOutput,
  video: VideoOutput,
  music: MusicOutput,
  tts: SpeechOutput,
  stt: TranscriptionOutput,
};

export const JobOutput = createUnionType({
  name: 'JobOutput',
  description: 'The output of a job, by its tool.',
  types: () => Object.values(KINDS),
  resolveType: (value) => KINDS[(value as unknown as Pick<Job, 'tool'>).tool],
});

interface Made {
  url?: string;
  audioUrl?: string;
  duration?: number;
  durationSeconds?: number;
  responseFormat?: string;
}

/**
 * A completed job's output by its tool.
 * @param data the handler's result (`Job.result.data`), files as URLs
 */
export function outputOf({ tool }: Pick<Job, 'tool'>, data: unknown): object {
  const made = camelNames(data);
  if (Array.isArray(made)) return { tool, images: made as unknown[] };
  const { audioUrl, duration, responseFormat, ...facts } = made as Made;
  return {
    ...facts,
    tool,
    ...(audioUrl === undefined ? {} : { url: audioUrl }),
    ...(duration === undefined ? {} : { durationSeconds: duration }),
    ...(responseFormat === undefined ? {} : { format: responseFormat }),
  };
}
