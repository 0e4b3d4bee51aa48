import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { EditDirection, ImageEditOperation } from '../enums.js';
import { SEED_INPUTS, modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({
  description:
    'An image and an operation on it. If the operation needs a parameter that is missing, the error names it.',
})
export class EditImageInput {
  @Extensions({ jsonSchema: nonBlank() })
  @Field(() => String, { description: 'URL, data: URL or base64 of a JPEG, PNG or WebP image, up to 20 MB.' })
  image!: string;

  @Field(() => ImageEditOperation, { description: 'The operation on the image.' })
  operation!: string;

  @Extensions({ jsonSchema: modelId('sandbox/image-edit-fast') })
  @Field(() => String, {
    nullable: true,
    description: "Id of a model for image edits. Default: the operation's default model.",
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 1, default: 0.95 } })
  @Field(() => Float, { nullable: true, description: 'How much to change: 0 to 1, default 0.95.' })
  strength?: number | null;

  @Field(() => String, {
    nullable: true,
    description:
      'For inpainting and objectRemoval: an image of the same size in which white marks the area to edit.',
  })
  mask?: string | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, {
    nullable: true,
    description:
      'A description of the result: required for inpainting and styleTransfer, optional for outpainting.',
  })
  prompt?: string | null;

  @Field(() => EditDirection, { nullable: true, description: 'The side to extend, for outpainting.' })
  direction?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 2048, default: 256 } })
  @Field(() => Int, {
    nullable: true,
    description: 'For outpainting: the number of pixels to add, 1 to 2048, default 256.',
  })
  expandPixels?: number | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'Required for backgroundReplace: the new background.' })
  newBackground?: string | null;

  @Extensions({ jsonSchema: { enum: [2, 4], default: 2 } })
  @Field(() => Int, {
    nullable: true,
    description: 'For superResolution: the factor for each side, 2 (default) or 4.',
  })
  scale?: number | null;

  @Extensions({ jsonSchema: SEED_INPUTS })
  @Field(() => Json, { nullable: true, description: 'Further parameters of the model, such as `seed`.' })
  modelInputs?: Record<string, unknown> | null;
}
