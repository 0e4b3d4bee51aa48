import { Field, Float, Int, ObjectType } from 'type-graphql';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class EditedImage {
  @Field(() => String, { description: 'Signed.' })
  url!: string;

  @Field(() => Int)
  width!: number;

  @Field(() => Int)
  height!: number;
}

@ObjectType({ simpleResolvers: true })
export class ImageEditUsage {
  @Field(() => Float)
  editsUsed!: number;

  @Field(() => Float)
  quotaMultiplier!: number;

  @Field(() => Float)
  editsRemaining!: number;
}

/** Contract 2.5 in the envelope of 2.1 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'An edited image, or the job that makes it.' })
export class ImageEdit {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [EditedImage], { nullable: true, description: 'Null when asynchronous.' })
  data!: EditedImage[] | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => ImageEditUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: ImageEditUsage | null;
}
