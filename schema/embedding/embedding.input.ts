import { Field, InputType, Int } from 'type-graphql';
import { Json } from '../scalars.js';

@InputType()
export class CreateEmbeddingsInput {
  @Field(() => Json, { description: 'A string or a list of strings.' })
  input!: unknown;

  @Field(() => String, { nullable: true })
  model?: string | null;

  @Field(() => Int, { nullable: true })
  dimensions?: number | null;

  @Field(() => String, { nullable: true, description: '`float`, or `base64` of little-endian float32.' })
  encodingFormat?: string | null;

  @Field(() => String, { nullable: true })
  user?: string | null;
}
