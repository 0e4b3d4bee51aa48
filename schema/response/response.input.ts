import { Extensions, Field, Float, ID, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType('ModelResponseInput', { description: 'A request in the form of the Responses convention.' })
export class ResponseInput {
  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model; default: see `models(type: chat)`.',
  })
  model?: string | null;

  @Field(() => Json, { nullable: true, description: 'A text, or items of the convention.' })
  input?: unknown;

  @Field(() => String, { nullable: true, description: 'The system prompt.' })
  instructions?: string | null;

  @Field(() => Json, { nullable: true, description: 'Tools that the model may call.' })
  tools?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, `required` or a tool.' })
  toolChoice?: unknown;

  @Field(() => Boolean, { nullable: true, description: 'Whether the model may call several tools at once.' })
  parallelToolCalls?: boolean | null;

  @Field(() => Int, { nullable: true, description: 'The maximum number of searches for the answer.' })
  maxToolCalls?: number | null;

  @Field(() => Json, { nullable: true, description: '`format` and `verbosity` of the text.' })
  text?: unknown;

  @Field(() => Json, { nullable: true, description: '`effort` of the reasoning, and the `summary` of it.' })
  reasoning?: unknown;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of tokens in the output; default: the model's own limit.",
  })
  maxOutputTokens?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'How many alternatives to return for each token, on models that support it: 0 to 20.',
  })
  topLogprobs?: number | null;

  @Field(() => String, {
    nullable: true,
    description: '`auto` removes the oldest items if the input is too long for the model.',
  })
  truncation?: string | null;

  @Field(() => Json, { nullable: true, description: 'At most 16 texts that are returned with the response.' })
  metadata?: unknown;

  @Field(() => [String], { nullable: true, description: 'Further data that the answer should contain.' })
  include?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the response is stored; default true.' })
  store?: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether it runs in the background, as with `startResponse`: the call returns at once.',
  })
  background?: boolean | null;

  @Field(() => ID, { nullable: true, description: 'Id of a stored response that this one continues.' })
  previousResponseId?: string | null;
}
