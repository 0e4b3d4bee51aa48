import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The edited image.' })
export class EditedImage {
  @Field(() => String, { description: 'A signed URL of the file.' })
  url!: string;

  @Field(() => String, {
    name: 'b64Json',
    nullable: true,
    description: 'The file as base64; null if only a URL was requested.',
  })
  b64Json!: string | null;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class ImageEditUsage {
  @Field(() => Float, { description: 'Edits charged, after the multiplier.' })
  editsUsed!: number;

  @Field(() => Float, { description: "The tier's multiplier." })
  quotaMultiplier!: number;

  @Field(() => Float, { description: 'Edits left in the period; -1 is unlimited.' })
  editsRemaining!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  inputTokens!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  outputTokens!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  totalTokens!: number;
}

/** Contract 2.5 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'An edited image and the job that makes it.' })
export class ImageEdit {
  @Field(() => JobType, { description: 'The job that makes it. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [EditedImage], { nullable: true, description: 'Null if `async` was true.' })
  data!: EditedImage[] | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => ImageEditUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: ImageEditUsage | null;
}
