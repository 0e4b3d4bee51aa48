import { Extensions, Field, InputType, Int } from 'type-graphql';
import { ImageResponseFormat, ImageStyle } from '../enums.js';
import { ImageSize, ImageUpscale, SafeInt } from '../scalars.js';

@InputType({ description: 'Contract 4.2.' })
export class GenerateImageInput {
  @Field(() => String)
  prompt!: string;

  @Field(() => String, { nullable: true })
  model?: string | null;

  @Field(() => ImageSize, { nullable: true, description: 'Default 1024x1024.' })
  size?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10, default: 1 } })
  @Field(() => Int, { nullable: true, description: 'How many images: 1 to 10, default 1.' })
  n?: number | null;

  @Extensions({ jsonSchema: { default: 'vivid' } })
  @Field(() => ImageStyle, { nullable: true, description: 'Default vivid.' })
  style?: string | null;

  @Field(() => ImageUpscale, { nullable: true })
  upscale?: string | null;

  @Field(() => String, { nullable: true })
  negativePrompt?: string | null;

  @Field(() => SafeInt, { nullable: true, description: 'The same seed gives the same images.' })
  seed?: number | null;

  @Extensions({ jsonSchema: { default: 'url' } })
  @Field(() => ImageResponseFormat, { nullable: true, description: 'Default url.' })
  responseFormat?: string | null;
}
