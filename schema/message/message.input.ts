import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType('ModelMessageInput', { description: 'What to answer, in the form of the Messages convention.' })
export class MessageInput {
  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model; default: see `models(type: chat)`.',
  })
  model?: string | null;

  @Field(() => Json, { nullable: true, description: 'The conversation: messages of the convention.' })
  messages?: unknown;

  @Field(() => Json, { nullable: true, description: 'What the model is told before it: a text, or blocks.' })
  system?: unknown;

  @Field(() => Int, {
    nullable: true,
    description: "Most tokens of the answer; default: the model's own bound.",
  })
  maxTokens?: number | null;

  @Field(() => Json, { nullable: true, description: 'Tools that the model may call.' })
  tools?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: '`type`: `auto`, `any`, `none` or `tool` with a `name`.',
  })
  toolChoice?: unknown;

  @Field(() => Json, { nullable: true, description: 'Whether it thinks first, and with how many tokens.' })
  thinking?: unknown;

  @Field(() => Json, { nullable: true, description: '`effort` and `format` of the answer.' })
  outputConfig?: unknown;

  @Field(() => [String], { nullable: true, description: 'Texts that end the answer.' })
  stopSequences?: string[] | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  temperature?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Field(() => Int, { nullable: true, description: 'For models that take it.' })
  topK?: number | null;

  @Field(() => Json, { nullable: true, description: '`user_id`: changes nothing about the answer.' })
  metadata?: unknown;

  @Field(() => [String], {
    nullable: true,
    description: 'What is asked of the maker besides, where the model is its own.',
  })
  betas?: string[] | null;
}
