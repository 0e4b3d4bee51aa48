import { Extensions, Field, InputType, Int } from 'type-graphql';
import { EmbeddingEncoding } from '../enums.js';
import { modelId } from '../json-schemas.js';
import { Json } from '../scalars.js';

/** Token ids of cl100k_base: its vocabulary, and its special tokens. */
const TOKEN_ID = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 100_255 },
    { enum: [100_257, 100_258, 100_259, 100_260, 100_276] },
  ],
};
const TOKEN_IDS = { type: 'array', minItems: 1, items: TOKEN_ID };

@InputType({ description: 'Texts to turn into vectors.' })
export class CreateEmbeddingsInput {
  @Extensions({
    jsonSchema: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', minItems: 1, maxItems: 2048, items: { type: 'string', minLength: 1 } },
        TOKEN_IDS,
        { type: 'array', minItems: 1, maxItems: 2048, items: TOKEN_IDS },
      ],
    },
  })
  @Field(() => Json, {
    description:
      'A string or a list of strings; or the ids of their tokens in cl100k_base, one list or several.',
  })
  input!: unknown;

  @Extensions({ jsonSchema: modelId('sandbox/embedding-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of an embedding model; default: see `models(type: embedding)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 4096 } })
  @Field(() => Int, { nullable: true, description: "Length of each vector; default: the model's own." })
  dimensions?: number | null;

  @Extensions({ jsonSchema: { default: 'float' } })
  @Field(() => EmbeddingEncoding, { nullable: true, description: 'Default `float`.' })
  encodingFormat?: string | null;

  @Field(() => String, { nullable: true, description: "An id of the caller's end user." })
  user?: string | null;
}
