import { Arg, Ctx, Extensions, Field, ID, InputType, Mutation, ObjectType, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { Json } from '../scalars.js';

@InputType({ description: 'The input to check.' })
export class CreateModerationInput {
  @Extensions({
    jsonSchema: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', minItems: 1, maxItems: 2048, items: { type: ['string', 'object'] } },
      ],
    },
  })
  @Field(() => Json, { description: 'A text, a list of texts, or parts with texts and images.' })
  input!: unknown;

  @Field(() => String, {
    nullable: true,
    description: "A model of the provider; default: the provider's default.",
  })
  model?: string | null;
}

@ObjectType({ simpleResolvers: true, description: "The provider's assessment of the input." })
export class Moderation {
  @Field(() => ID, { description: "The provider's id of this assessment." })
  id!: string;

  @Field(() => String, { description: "The provider's name of the model that made it." })
  model!: string;

  @Field(() => [Json], { description: "One result for each input, in the provider's form." })
  results!: unknown[];
}

/** Beyond 11.12: free of charge; it takes a slot of the key's window. */
@Resolver()
export class ModerationResolver {
  @Scope('chat', 'member')
  @Mutation(() => Moderation, {
    description: "Checks with a provider's moderation API whether an input is harmful.",
  })
  async createModeration(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => CreateModerationInput, { description: 'The input to check.' })
    input: CreateModerationInput,
  ): Promise<Moderation> {
    return await services.moderations.create(call, body ?? contractNames(input));
  }
}
