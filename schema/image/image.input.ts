import { Extensions, Field, InputType, Int } from 'type-graphql';
import { ImageResponseFormat, ImageStyle } from '../enums.js';
import { modelId, nonBlank } from '../json-schemas.js';
import { ImageSize, ImageUpscale, SafeInt } from '../scalars.js';

@InputType({ description: 'The images to generate.' })
export class GenerateImageInput {
  @Extensions({ jsonSchema: nonBlank(32_000) })
  @Field(() => String, { description: 'What the images should show.' })
  prompt!: string;

  @Extensions({ jsonSchema: modelId('sandbox/image-standard') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of an image model; default: see `models(type: image)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { default: '1024x1024' } })
  @Field(() => ImageSize, { nullable: true, description: 'Default 1024x1024.' })
  size?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10, default: 1 } })
  @Field(() => Int, { nullable: true, description: 'How many images: 1 to 10, default 1.' })
  n?: number | null;

  @Extensions({ jsonSchema: { default: 'vivid' } })
  @Field(() => ImageStyle, { nullable: true, description: 'Default vivid.' })
  style?: string | null;

  @Extensions({ jsonSchema: { default: 'none' } })
  @Field(() => ImageUpscale, {
    nullable: true,
    description: 'The factor by which `size` is multiplied. Default none.',
  })
  upscale?: string | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'What the images should not show.' })
  negativePrompt?: string | null;

  @Field(() => SafeInt, { nullable: true, description: 'The same seed gives the same images.' })
  seed?: number | null;

  @Extensions({ jsonSchema: { default: 'url' } })
  @Field(() => ImageResponseFormat, { nullable: true, description: 'Default url.' })
  responseFormat?: string | null;
}
