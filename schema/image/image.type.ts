import { Field, Float, Int, ObjectType } from 'type-graphql';
import { CreditsBreakdown } from '../chat/chat.type.js';
import { JobType } from '../job/job.type.js';

@ObjectType({ simpleResolvers: true, description: 'One image.' })
export class GeneratedImage {
  @Field(() => String, { nullable: true, description: 'Signed; null where base64 was asked for.' })
  url!: string | null;

  @Field(() => String, {
    name: 'b64Json',
    nullable: true,
    description: 'The file as base64; null where a URL was asked for.',
  })
  b64Json!: string | null;

  @Field(() => String, { nullable: true, description: 'The prompt that the model worked with.' })
  revisedPrompt!: string | null;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The charge of a call, and what is left after it.' })
export class ImageUsage {
  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;

  @Field(() => CreditsBreakdown, { description: 'How the charge came about.' })
  creditsBreakdown!: CreditsBreakdown;

  @Field(() => Float, { description: 'Images charged.' })
  generationsUsed!: number;

  @Field(() => Float, { description: 'Images left in the period; -1 is unlimited.' })
  generationsRemaining!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  inputTokens!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  outputTokens!: number;

  @Field(() => Int, { description: 'Images are not charged by tokens: 0.' })
  totalTokens!: number;
}

/** Contract 2.4 in the envelope of 2.1 (decisions 8, "Generations"). */
@ObjectType({ simpleResolvers: true, description: 'Images, or the job that makes them.' })
export class ImageGeneration {
  @Field(() => JobType, { description: 'The job that makes them: `jobProgress` follows it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [GeneratedImage], { nullable: true, description: 'Null when asynchronous.' })
  data!: GeneratedImage[] | null;

  @Field(() => String, { description: 'Id of the model that was asked for or, once done, that did it.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for.' })
  modelTier!: string;

  @Field(() => ImageUsage, { nullable: true, description: 'Null when asynchronous.' })
  usage!: ImageUsage | null;
}
