import { Field, Float, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';

@ObjectType({ simpleResolvers: true })
export class Embedding {
  @Field(() => String, { description: '`embedding`.' })
  object!: string;

  @Field(() => Int)
  index!: number;

  @Field(() => Json, { description: 'A list of numbers, or base64 of little-endian float32.' })
  embedding!: number[] | string;
}

@ObjectType({ simpleResolvers: true })
export class EmbeddingUsage {
  @Field(() => Int)
  promptTokens!: number;

  @Field(() => Int)
  totalTokens!: number;

  @Field(() => Float)
  creditsUsed!: number;
}

/** decisions.md 6, "Embeddings". */
@ObjectType({ simpleResolvers: true })
export class EmbeddingList {
  @Field(() => String, { description: '`list`.' })
  object!: string;

  @Field(() => [Embedding])
  data!: Embedding[];

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => EmbeddingUsage)
  usage!: EmbeddingUsage;
}
