import { Extensions, Field, Float, ID, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType('ModelResponseInput', { description: 'What to answer, in the form of the Responses convention.' })
export class ResponseInput {
  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model; default: see `models(type: chat)`.',
  })
  model?: string | null;

  @Field(() => Json, { nullable: true, description: 'A text, or items of the convention.' })
  input?: unknown;

  @Field(() => String, { nullable: true, description: 'What the model is told before the input.' })
  instructions?: string | null;

  @Field(() => Json, { nullable: true, description: 'Tools that the model may call.' })
  tools?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, `required` or a tool.' })
  toolChoice?: unknown;

  @Field(() => Boolean, { nullable: true, description: 'Whether it may call several at once.' })
  parallelToolCalls?: boolean | null;

  @Field(() => Int, { nullable: true, description: 'Most searches that are made for the answer.' })
  maxToolCalls?: number | null;

  @Field(() => Json, { nullable: true, description: '`format` and `verbosity` of the text.' })
  text?: unknown;

  @Field(() => Json, { nullable: true, description: '`effort` and `summary` of what is thought.' })
  reasoning?: unknown;

  @Field(() => Int, {
    nullable: true,
    description: "Most tokens of the output; default: the model's own bound.",
  })
  maxOutputTokens?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Alternatives to each token, where a model tells them: 0 to 20.',
  })
  topLogprobs?: number | null;

  @Field(() => String, { nullable: true, description: '`auto` leaves out the oldest items that do not fit.' })
  truncation?: string | null;

  @Field(() => Json, { nullable: true, description: 'At most 16 texts that come back with the response.' })
  metadata?: unknown;

  @Field(() => [String], { nullable: true, description: 'What the answer should hold besides.' })
  include?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the response is kept; default true.' })
  store?: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether it is answered at once and worked on without its caller, as by `startResponse`.',
  })
  background?: boolean | null;

  @Field(() => ID, { nullable: true, description: 'A stored response that this one goes on from.' })
  previousResponseId?: string | null;
}
