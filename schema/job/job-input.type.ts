import { createUnionType, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Job } from '../../src/jobs/jobs.types.js';
import {
  EditDirection,
  ImageEditOperation,
  ImageStyle,
  JobMode,
  MediaFormat,
  TimestampGranularity,
} from '../enums.js';
import { camel } from '../names.js';
import { ImageSize, ImageUpscale, Json, SafeInt, VideoAspectRatio, VideoResolution } from '../scalars.js';

// A field of these types has one name and one type in all of them (beyond 14.4). Files are signed URLs.

const PROMPT = { nullable: true, description: 'A description of the result.' } as const;
const NEGATIVE = { nullable: true, description: 'Content that the result should not have.' } as const;
const SEED = { nullable: true, description: 'Null: by chance.' } as const;
const FORMAT = { nullable: true, description: "The result's format; null: the default." } as const;
const MODEL_INPUTS = { nullable: true, description: "The model's own parameters." } as const;

@ObjectType({ simpleResolvers: true })
abstract class AnyJobInput {
  @Field(() => ID, { description: 'Id of the requested model.' })
  modelId!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `image`.' })
export class ImageJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => ImageSize, { nullable: true, description: "Null: the model's own." })
  size!: string | null;

  @Field(() => Int, { nullable: true, description: 'How many.' })
  n!: number | null;

  @Field(() => ImageStyle, { nullable: true, description: 'The style.' })
  style!: string | null;

  @Field(() => ImageUpscale, { nullable: true, description: 'The factor for each side.' })
  upscale!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => SafeInt, SEED)
  seed!: number | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `image_edit`.' })
export class ImageEditJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The picture.' })
  image!: string | null;

  @Field(() => ImageEditOperation, { nullable: true, description: 'The operation.' })
  operation!: string | null;

  @Field(() => Float, { nullable: true, description: 'How much to change.' })
  strength!: number | null;

  @Field(() => String, { nullable: true, description: 'The mask; it is white in the area to edit.' })
  mask!: string | null;

  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => EditDirection, { nullable: true, description: 'The side to extend.' })
  direction!: string | null;

  @Field(() => Int, { nullable: true, description: 'The number of pixels to add.' })
  expandPixels!: number | null;

  @Field(() => String, { nullable: true, description: 'The new background.' })
  newBackground!: string | null;

  @Field(() => Int, { nullable: true, description: 'The factor for each side.' })
  scale!: number | null;

  @Field(() => ImageSize, { nullable: true, description: "Null: the operation's own." })
  size!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `video`.' })
export class VideoJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => Float, { nullable: true, description: 'Seconds.' })
  durationSeconds!: number | null;

  @Field(() => VideoResolution, { nullable: true, description: 'Pixels of the shorter side.' })
  resolution!: string | null;

  @Field(() => Int, { nullable: true, description: 'Frames per second.' })
  fps!: number | null;

  @Field(() => VideoAspectRatio, { nullable: true, description: 'The ratio of width to height.' })
  aspectRatio!: string | null;

  @Field(() => JobMode, { nullable: true, description: 'The source of the result.' })
  mode!: string | null;

  @Field(() => String, { nullable: true, description: 'The first picture of the video.' })
  sourceImage!: string | null;

  @Field(() => String, { nullable: true, description: 'The source video.' })
  sourceVideo!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => SafeInt, SEED)
  seed!: number | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the model may rewrite the prompt.' })
  promptOptimizer!: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether the video loops: its end leads back to its beginning.',
  })
  loop!: boolean | null;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `music`.' })
export class MusicJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => Float, { nullable: true, description: 'Seconds.' })
  durationSeconds!: number | null;

  @Field(() => JobMode, { nullable: true, description: 'The source of the result.' })
  mode!: string | null;

  @Field(() => String, { nullable: true, description: 'The recording to vary.' })
  sourceAudio!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `tts`.' })
export class SpeechJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The text to speak.' })
  text!: string | null;

  @Field(() => String, { nullable: true, description: 'The voice.' })
  voice!: string | null;

  @Field(() => Float, { nullable: true, description: 'The speed; 1 is normal.' })
  speed!: number | null;

  @Field(() => String, { nullable: true, description: 'The sample of the voice to imitate.' })
  referenceAudio!: string | null;

  @Field(() => String, { nullable: true, description: 'The words in the sample.' })
  referenceText!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The input of a job of the tool `stt`.' })
export class TranscriptionJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The recording.' })
  file!: string | null;

  @Field(() => String, { nullable: true, description: 'The code of the language; auto: it is detected.' })
  language!: string | null;

  @Field(() => [TimestampGranularity], { nullable: true, description: 'The parts that have times.' })
  timestampGranularities!: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether to distinguish the speakers.' })
  diarization!: boolean | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether to translate into English.' })
  translation!: boolean | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

const KINDS = {
  image: ImageJobInput,
  image_edit: ImageEditJobInput,
  video: VideoJobInput,
  music: MusicJobInput,
  tts: SpeechJobInput,
  stt: TranscriptionJobInput,
};

export const JobInput = createUnionType({
  name: 'JobInput',
  description: 'The input of a job, by its tool, with defaults filled in.',
  types: () => Object.values(KINDS),
  resolveType: (value) => KINDS[(value as unknown as Pick<Job, 'tool'>).tool],
});

/** Their names in the contract, if they differ. */
const NAMES: Readonly<Record<string, string>> = { model: 'modelId', output_format: 'format' };
const OF_SOUND: Readonly<Record<string, string>> = { ...NAMES, input: 'text', response_format: 'format' };

/** A job's input by its tool. An input without a model gets the job's model. @param params `inputParams`, files as URLs */
export function inputOf(
  { tool, model }: Pick<Job, 'tool' | 'model'>,
  params: Record<string, unknown>,
): object {
  const names = tool === 'tts' || tool === 'stt' ? OF_SOUND : NAMES;
  const entries = Object.entries(params).map(([name, value]) => [names[name] ?? camel(name), value] as const);
  const input = Object.fromEntries(entries);
  return { ...input, modelId: input['modelId'] ?? model, tool };
}
