import { Field, ID, Float, Int, ObjectType } from 'type-graphql';
import { ModelTier } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'A text that was ranked.' })
export class RankedDocument {
  @Field(() => String, { description: 'The text.' })
  text!: string;
}

@ObjectType({ simpleResolvers: true, description: "One text's place in the ranking." })
export class RankedResult {
  @Field(() => Int, { description: 'The index of the text in the request, from 0.' })
  index!: number;

  @Field(() => Float, { description: 'How well the text answers the question; higher is better.' })
  relevanceScore!: number;

  @Field(() => RankedDocument, {
    nullable: true,
    description: 'The text; null unless `returnDocuments` was true.',
  })
  document!: RankedDocument | null;
}

@ObjectType({ simpleResolvers: true, description: 'The units of a ranking, and its charge.' })
export class RerankUsage {
  @Field(() => Int, { description: 'The number of started hundreds of texts.' })
  searchUnits!: number;

  @Field(() => Float, { description: 'Credits charged.' })
  creditsUsed!: number;
}

/** Beyond 11.12. */
@ObjectType({ simpleResolvers: true, description: 'A ranking of texts.' })
export class Reranking {
  @Field(() => ID, { description: 'Id of this answer.' })
  id!: string;

  @Field(() => String, { description: 'Id of the model.' })
  model!: string;

  @Field(() => ModelTier, { description: 'Its tier.' })
  modelTier!: string;

  @Field(() => [RankedResult], { description: 'The results, best first.' })
  results!: RankedResult[];

  @Field(() => RerankUsage, { description: 'The units, and the charge.' })
  usage!: RerankUsage;
}
