import { Field, Float, Int, ObjectType } from 'type-graphql';
import { CreditsBreakdown } from '../chat/chat.type.js';
import { JobType } from '../job/job.type.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'One image.' })
export class GeneratedImage {
  @Field(() => String, {
    nullable: true,
    description: 'A signed URL of the file; null if base64 was requested.',
  })
  url!: string | null;

  @Field(() => String, {
    name: 'b64Json',
    nullable: true,
    description: 'The file as base64; null if a URL was requested.',
  })
  b64Json!: string | null;

  @Field(() => String, { nullable: true, description: 'The prompt that the model used.' })
  revisedPrompt!: string | null;

  @Field(() => Int, { description: 'Pixels.' })
  width!: number;

  @Field(() => Int, { description: 'Pixels.' })
  height!: number;
}

@ObjectType({
  simpleResolvers: true,
  description: 'The charge of a call, and the remaining quota after it.',
})
export class ImageUsage {
  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;

  @Field(() => CreditsBreakdown, { description: 'How the charge was calculated.' })
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
@ObjectType({ simpleResolvers: true, description: 'Images and the job that makes them.' })
export class ImageGeneration {
  @Field(() => JobType, { description: 'The job that makes them. Subscribe to `jobProgress` to follow it.' })
  job!: JobType;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => [GeneratedImage], { nullable: true, description: 'Null if `async` was true.' })
  data!: GeneratedImage[] | null;

  @Field(() => String, {
    description: 'The id of the requested model; when the job is done, of the model that did the work.',
  })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => ImageUsage, { nullable: true, description: 'Null if `async` was true.' })
  usage!: ImageUsage | null;
}
