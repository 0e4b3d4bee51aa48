import { Field, Float, Int, ObjectType } from 'type-graphql';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'A text that was ranked.' })
export class RankedDocument {
  @Field(() => String, { description: 'The text.' })
  text!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The place of one text.' })
export class RankedResult {
  @Field(() => Int, { description: 'The index of the text in the request, from 0.' })
  index!: number;

  @Field(() => Float, { description: 'How well it answers; the higher the better.' })
  relevanceScore!: number;

  @Field(() => RankedDocument, { nullable: true, description: 'Null unless texts were asked for.' })
  document!: RankedDocument | null;
}

@ObjectType({ simpleResolvers: true, description: 'What a ranking is charged for, and its charge.' })
export class RerankUsage {
  @Field(() => Int, { description: 'Started hundreds of texts.' })
  searchUnits!: number;

  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;
}

/** Beyond 11.12. */
@ObjectType({ simpleResolvers: true, description: 'Texts, the best first.' })
export class Reranking {
  @Field(() => String, { description: 'An id of this answer.' })
  id!: string;

  @Field(() => String, { description: 'Id of the model.' })
  model!: string;

  @Field(() => ModelTier, { description: 'Its tier.' })
  modelTier!: string;

  @Field(() => [RankedResult], { description: 'The best first.' })
  results!: RankedResult[];

  @Field(() => RerankUsage, { description: 'What it is charged for, and the charge.' })
  usage!: RerankUsage;
}
