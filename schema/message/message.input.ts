import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType('ModelMessageInput', { description: 'A request in the form of the Messages convention.' })
export class MessageInput {
  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model; default: see `models(type: chat)`.',
  })
  model?: string | null;

  @Field(() => Json, { nullable: true, description: 'The conversation: messages of the convention.' })
  messages?: unknown;

  @Field(() => Json, { nullable: true, description: 'The system prompt: a text, or blocks.' })
  system?: unknown;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of tokens in the answer; default: the model's own limit.",
  })
  maxTokens?: number | null;

  @Field(() => Json, { nullable: true, description: 'Tools that the model may call.' })
  tools?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: '`type`: `auto`, `any`, `none` or `tool` with a `name`.',
  })
  toolChoice?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'Whether the model thinks first, and with how many tokens.',
  })
  thinking?: unknown;

  @Field(() => Json, { nullable: true, description: '`effort` and `format` of the answer.' })
  outputConfig?: unknown;

  @Field(() => [String], { nullable: true, description: 'Texts at which the answer stops.' })
  stopSequences?: string[] | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  temperature?: number | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'A token is chosen from this number of most likely tokens, on models that support it.',
  })
  topK?: number | null;

  @Field(() => Json, {
    nullable: true,
    description: '`user_id` names the end user. It does not change the answer.',
  })
  metadata?: unknown;

  @Field(() => [String], {
    nullable: true,
    description: 'Beta features of the maker, for models of upstreams that support the convention.',
  })
  betas?: string[] | null;
}
