import { Field, Float, Int, ObjectType } from 'type-graphql';
import { CreditsBreakdown } from '../chat/chat.type.js';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true })
export class GeneratedImage {
  @Field(() => String, { nullable: true, description: 'Signed; null where base64 was asked for.' })
  url!: string | null;

  @Field(() => String, { name: 'b64Json', nullable: true })
  b64Json!: string | null;

  @Field(() => String, { nullable: true })
  revisedPrompt!: string | null;

  @Field(() => Int)
  width!: number;

  @Field(() => Int)
  height!: number;
}

@ObjectType({ simpleResolvers: true })
export class ImageUsage {
  @Field(() => Float)
  creditsUsed!: number;

  @Field(() => CreditsBreakdown)
  creditsBreakdown!: CreditsBreakdown;

  @Field(() => Float)
  generationsUsed!: number;

  @Field(() => Float)
  generationsRemaining!: number;
}

/** Contract 2.4 in the envelope of 2.1 (decisions.md 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Images, or the job that makes them.' })
export class ImageGeneration {
  @Field(() => JobType)
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [GeneratedImage], { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedImage[] | null;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => ImageUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: ImageUsage | null;
}
