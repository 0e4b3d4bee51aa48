import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { EDIT_OPERATIONS } from '../../src/imaging/index.js';
import { EditDirection } from '../enums.js';
import { SEED_INPUTS, modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({
  description:
    'An image and what to do with it; a parameter that the operation needs and does not get is an error that names it.',
})
export class EditImageInput {
  @Extensions({ jsonSchema: nonBlank() })
  @Field(() => String, { description: 'URL, data: URL or base64 of a JPEG, PNG or WebP image, up to 20 MB.' })
  image!: string;

  @Extensions({ jsonSchema: { enum: [...EDIT_OPERATIONS] } })
  @Field(() => String, {
    description:
      'inpainting, outpainting, backgroundRemoval, backgroundReplace, objectRemoval, superResolution, faceEnhancement, colorization or styleTransfer.',
  })
  operation!: string;

  @Extensions({ jsonSchema: modelId('sandbox/image-edit-fast') })
  @Field(() => String, { nullable: true, description: "Default: the operation's own." })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 1, default: 0.95 } })
  @Field(() => Float, { nullable: true, description: '0 to 1, default 0.95.' })
  strength?: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'As large as the image; white marks the area to edit (inpainting, objectRemoval).',
  })
  mask?: string | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'inpainting, styleTransfer (required), outpainting.' })
  prompt?: string | null;

  @Field(() => EditDirection, { nullable: true, description: 'outpainting (required).' })
  direction?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 2048, default: 256 } })
  @Field(() => Int, { nullable: true, description: 'outpainting: 1 to 2048, default 256.' })
  expandPixels?: number | null;

  @Extensions({ jsonSchema: { maxLength: 32_000 } })
  @Field(() => String, { nullable: true, description: 'backgroundReplace (required).' })
  newBackground?: string | null;

  @Extensions({ jsonSchema: { enum: [2, 4], default: 2 } })
  @Field(() => Int, { nullable: true, description: 'superResolution: 2 (default) or 4 times each side.' })
  scale?: number | null;

  @Extensions({ jsonSchema: SEED_INPUTS })
  @Field(() => Json, { nullable: true, description: "The model's own extras, such as `seed`." })
  modelInputs?: Record<string, unknown> | null;
}
