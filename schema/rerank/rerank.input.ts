import { Extensions, Field, InputType, Int } from 'type-graphql';
import { modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

const DOCUMENT = {
  anyOf: [
    { type: 'string' },
    { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  ],
};

@InputType({ description: 'A question, and the texts that may answer it.' })
export class RerankInput {
  @Extensions({ jsonSchema: nonBlank() })
  @Field(() => String, { description: 'The question.' })
  query!: string;

  @Extensions({ jsonSchema: { type: 'array', minItems: 1, maxItems: 1000, items: DOCUMENT } })
  @Field(() => Json, { description: 'Up to 1,000 texts, or objects with `text`.' })
  documents!: unknown;

  @Extensions({ jsonSchema: modelId('sandbox/rerank-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a rerank model; default: see `models(type: rerank)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 1 } })
  @Field(() => Int, {
    nullable: true,
    description: 'The number of results to return, best first; default: all.',
  })
  topN?: number | null;

  @Extensions({ jsonSchema: { default: false } })
  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether the results contain their texts. Default false.',
  })
  returnDocuments?: boolean | null;
}
