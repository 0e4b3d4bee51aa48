import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { VideoMode } from '../enums.js';
import { modelId, nonBlank } from '../json-schemas.js';
import { SafeInt, VideoAspectRatio, VideoResolution } from '../scalars.js';

@InputType({ description: 'The video to generate.' })
export class GenerateVideoInput {
  @Extensions({ jsonSchema: nonBlank(32_000) })
  @Field(() => String, { description: 'What the video should show.' })
  prompt!: string;

  @Extensions({ jsonSchema: modelId('sandbox/video-standard') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a video model; default: see `models(type: video)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 60, default: 5 } })
  @Field(() => Float, {
    nullable: true,
    description: 'The length, 1 to 60, default 5. It is charged in whole seconds.',
  })
  durationSeconds?: number | null;

  @Extensions({ jsonSchema: { default: '720p' } })
  @Field(() => VideoResolution, { nullable: true, description: 'Default 720p.' })
  resolution?: string | null;

  @Extensions({ jsonSchema: { enum: [30, 60], default: 30 } })
  @Field(() => Int, { nullable: true, description: 'Frames a second: 30 (default) or 60.' })
  fps?: number | null;

  @Extensions({ jsonSchema: { default: '16:9' } })
  @Field(() => VideoAspectRatio, { nullable: true, description: 'Default 16:9.' })
  aspectRatio?: string | null;

  @Extensions({ jsonSchema: { default: 'text_to_video' } })
  @Field(() => VideoMode, { nullable: true, description: 'Default text_to_video.' })
  mode?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'For image_to_video: URL, data: URL or base64 of a JPEG, PNG or WebP image, up to 20 MB.',
  })
  sourceImage?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'For video_to_video: URL, data: URL or base64 of an MP4, MOV, WebM or Matroska video, up to 100 MB.',
  })
  sourceVideo?: string | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'What the video should not show.' })
  negativePrompt?: string | null;

  @Field(() => SafeInt, { nullable: true, description: 'The same seed gives the same video.' })
  seed?: number | null;

  @Extensions({ jsonSchema: { default: true } })
  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether to improve the prompt first. Default true on models that can.',
  })
  promptOptimizer?: boolean | null;

  @Extensions({ jsonSchema: { default: false } })
  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether the end of the video leads back to its beginning. Default false.',
  })
  loop?: boolean | null;
}
