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

const PROMPT = { nullable: true, description: 'What is to be made.' } as const;
const NEGATIVE = { nullable: true, description: 'What is not to be seen or heard.' } as const;
const SEED = { nullable: true, description: 'Null: by chance.' } as const;
const FORMAT = { nullable: true, description: "The result's format; null: the usual one." } as const;
const MODEL_INPUTS = { nullable: true, description: "The model's own parameters." } as const;

@ObjectType({ simpleResolvers: true })
abstract class AnyJobInput {
  @Field(() => ID, { description: 'Id of the requested model.' })
  modelId!: string;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `image` was asked for.' })
export class ImageJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => ImageSize, { nullable: true, description: "Null: the model's own." })
  size!: string | null;

  @Field(() => Int, { nullable: true, description: 'How many.' })
  n!: number | null;

  @Field(() => ImageStyle, { nullable: true, description: 'The style.' })
  style!: string | null;

  @Field(() => ImageUpscale, { nullable: true, description: 'How much each side is multiplied.' })
  upscale!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => SafeInt, SEED)
  seed!: number | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `image_edit` was asked for.' })
export class ImageEditJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The picture.' })
  image!: string | null;

  @Field(() => ImageEditOperation, { nullable: true, description: 'What is done to it.' })
  operation!: string | null;

  @Field(() => Float, { nullable: true, description: 'How much to change.' })
  strength!: number | null;

  @Field(() => String, { nullable: true, description: 'White where the picture is edited.' })
  mask!: string | null;

  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => EditDirection, { nullable: true, description: 'The side that is extended.' })
  direction!: string | null;

  @Field(() => Int, { nullable: true, description: 'By how many pixels.' })
  expandPixels!: number | null;

  @Field(() => String, { nullable: true, description: 'The new background.' })
  newBackground!: string | null;

  @Field(() => Int, { nullable: true, description: 'How much each side is multiplied.' })
  scale!: number | null;

  @Field(() => ImageSize, { nullable: true, description: "Null: the operation's own." })
  size!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `video` was asked for.' })
export class VideoJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => Float, { nullable: true, description: 'Seconds.' })
  durationSeconds!: number | null;

  @Field(() => VideoResolution, { nullable: true, description: 'Lines of the shorter side.' })
  resolution!: string | null;

  @Field(() => Int, { nullable: true, description: 'Pictures in a second.' })
  fps!: number | null;

  @Field(() => VideoAspectRatio, { nullable: true, description: 'Width to height.' })
  aspectRatio!: string | null;

  @Field(() => JobMode, { nullable: true, description: 'What it is made from.' })
  mode!: string | null;

  @Field(() => String, { nullable: true, description: 'The picture that it begins with.' })
  sourceImage!: string | null;

  @Field(() => String, { nullable: true, description: 'The film that it is made from.' })
  sourceVideo!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => SafeInt, SEED)
  seed!: number | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the model may rewrite the prompt.' })
  promptOptimizer!: boolean | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the end leads back to the beginning.' })
  loop!: boolean | null;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `music` was asked for.' })
export class MusicJobInput extends AnyJobInput {
  @Field(() => String, PROMPT)
  prompt!: string | null;

  @Field(() => Float, { nullable: true, description: 'Seconds.' })
  durationSeconds!: number | null;

  @Field(() => JobMode, { nullable: true, description: 'What it is made from.' })
  mode!: string | null;

  @Field(() => String, { nullable: true, description: 'The recording that is varied.' })
  sourceAudio!: string | null;

  @Field(() => String, NEGATIVE)
  negativePrompt!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `tts` was asked for.' })
export class SpeechJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The text that is spoken.' })
  text!: string | null;

  @Field(() => String, { nullable: true, description: 'The voice.' })
  voice!: string | null;

  @Field(() => Float, { nullable: true, description: '1 is the usual pace.' })
  speed!: number | null;

  @Field(() => String, { nullable: true, description: 'The sample of the voice to imitate.' })
  referenceAudio!: string | null;

  @Field(() => String, { nullable: true, description: 'What is said in it.' })
  referenceText!: string | null;

  @Field(() => MediaFormat, FORMAT)
  format!: string | null;

  @Field(() => Json, MODEL_INPUTS)
  modelInputs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'What a job of the tool `stt` was asked for.' })
export class TranscriptionJobInput extends AnyJobInput {
  @Field(() => String, { nullable: true, description: 'The recording.' })
  file!: string | null;

  @Field(() => String, { nullable: true, description: 'The code of the language; auto: it is found out.' })
  language!: string | null;

  @Field(() => [TimestampGranularity], { nullable: true, description: 'The parts that have times.' })
  timestampGranularities!: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether speakers are told apart.' })
  diarization!: boolean | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether it is translated into English.' })
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
  description: 'What a job was asked for, by its tool, with defaults filled in.',
  types: () => Object.values(KINDS),
  resolveType: (value) => KINDS[(value as unknown as Pick<Job, 'tool'>).tool],
});

/** Their names in the contract, where they differ. */
const NAMES: Readonly<Record<string, string>> = { model: 'modelId', output_format: 'format' };
const OF_SOUND: Readonly<Record<string, string>> = { ...NAMES, input: 'text', response_format: 'format' };

/** A job's input by its tool. @param params `inputParams`, files as addresses */
export function inputOf({ tool }: Pick<Job, 'tool'>, params: Record<string, unknown>): object {
  const names = tool === 'tts' || tool === 'stt' ? OF_SOUND : NAMES;
  const entries = Object.entries(params).map(([name, value]) => [names[name] ?? camel(name), value] as const);
  return { ...Object.fromEntries(entries), tool };
}
