import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'The edited image.' })
export class EditedImage {
  @Field(() => String, { description: 'Signed.' })
  url!: string;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
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
@ObjectType({ simpleResolvers: true, description: 'An edited image, or the job that makes it.' })
export class ImageEdit {
  @Field(() => JobType, { description: 'The job that makes it: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [EditedImage], { nullable: true, description: 'Null when asynchronous.' })
  data!: EditedImage[] | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => ImageEditUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: ImageEditUsage | null;
}
