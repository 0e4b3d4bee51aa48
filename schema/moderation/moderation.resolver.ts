import { Arg, Ctx, Extensions, Field, InputType, Mutation, ObjectType, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { Json } from '../scalars.js';

@InputType({ description: 'What is to be judged.' })
export class CreateModerationInput {
  @Extensions({
    jsonSchema: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', minItems: 1, maxItems: 2048, items: { type: ['string', 'object'] } },
      ],
    },
  })
  @Field(() => Json, { description: 'A text, several, or parts with texts and pictures.' })
  input!: unknown;

  @Field(() => String, { nullable: true, description: "The provider's own model; default: the provider's." })
  model?: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'What the provider says of the input.' })
export class Moderation {
  @Field(() => String, { description: 'An id of the provider.' })
  id!: string;

  @Field(() => String, { description: "The provider's name of the model." })
  model!: string;

  @Field(() => [Json], { description: 'One for each input, as the provider tells it.' })
  results!: unknown[];
}

/** Beyond 11.12: free but for a slot of the key's window. */
@Resolver()
export class ModerationResolver {
  @Scope('chat', 'member')
  @Mutation(() => Moderation, { description: 'Asks a provider that moderates whether an input is harmful.' })
  async createModeration(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => CreateModerationInput, { description: 'What is to be judged.' })
    input: CreateModerationInput,
  ): Promise<Moderation> {
    return await services.moderations.create(call, body ?? contractNames(input));
  }
}
