import { Field, Float, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The vector of one text.' })
export class Embedding {
  @Field(() => String, { description: '`embedding`.' })
  object!: string;

  @Field(() => Int, { description: 'The index of its text, from 0.' })
  index!: number;

  @Field(() => Json, { description: 'A list of numbers, or base64 of little-endian float32.' })
  embedding!: number[] | string;
}

@ObjectType({ simpleResolvers: true, description: 'Tokens of a call, and its charge.' })
export class EmbeddingUsage {
  @Field(() => Int, { description: 'Tokens of all texts.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'The same number as `promptTokens`.' })
  totalTokens!: number;

  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;
}

/** decisions 6, "Embeddings". */
@ObjectType({ simpleResolvers: true, description: 'Vectors, in the order of the texts.' })
export class EmbeddingList {
  @Field(() => String, { description: '`list`.' })
  object!: string;

  @Field(() => [Embedding], { description: 'One for each text.' })
  data!: Embedding[];

  @Field(() => String, { description: 'Id of the model.' })
  model!: string;

  @Field(() => ModelTier, { description: 'Its tier.' })
  modelTier!: string;

  @Field(() => EmbeddingUsage, { description: 'The tokens used, and the charge.' })
  usage!: EmbeddingUsage;
}
