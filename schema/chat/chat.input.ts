import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { ChatRole, Json, SafeInt } from '../scalars.js';

@InputType({ description: 'Contract 2.2.' })
export class ChatMessageInput {
  @Field(() => ChatRole)
  role!: string;

  @Field(() => Json, {
    nullable: true,
    description:
      'A string, or a list of parts (`text`, `image_url`). Null where an assistant message has `toolCalls`.',
  })
  content?: unknown;

  @Field(() => [String], { nullable: true, description: 'URLs, data URLs or base64 of up to 4 images.' })
  images?: string[] | null;

  @Field(() => String, { nullable: true })
  name?: string | null;

  @Field(() => Json, { nullable: true })
  toolCalls?: unknown;

  @Field(() => String, { nullable: true })
  toolCallId?: string | null;
}

@InputType({ description: 'Contract 4.1; what is absent takes the default of the contract or of the model.' })
export class ChatCompletionInput {
  @Field(() => [ChatMessageInput])
  messages!: ChatMessageInput[];

  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, { nullable: true })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 2, default: 0.7 } })
  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10_000_000, default: 2048 } })
  @Field(() => Int, { nullable: true })
  maxTokens?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10_000_000 } })
  @Field(() => Int, { nullable: true, description: 'Beats `maxTokens`.' })
  maxCompletionTokens?: number | null;

  @Extensions({ jsonSchema: { default: false } })
  @Field(() => Boolean, { nullable: true, description: 'Search the web and cite what was found.' })
  webSearch?: boolean | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 1, default: 1 } })
  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Extensions({ jsonSchema: { minimum: -2, maximum: 2, default: 0 } })
  @Field(() => Float, { nullable: true, description: '-2 to 2.' })
  frequencyPenalty?: number | null;

  @Extensions({ jsonSchema: { minimum: -2, maximum: 2, default: 0 } })
  @Field(() => Float, { nullable: true, description: '-2 to 2.' })
  presencePenalty?: number | null;

  @Extensions({
    jsonSchema: {
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }, { type: 'null' }],
    },
  })
  @Field(() => Json, { nullable: true, description: 'A string or a list of strings.' })
  stop?: unknown;

  @Field(() => String, { nullable: true, description: "The caller's own end user." })
  user?: string | null;

  @Field(() => SafeInt, { nullable: true })
  seed?: number | null;

  @Extensions({ jsonSchema: { enum: [1], default: 1 } })
  @Field(() => Int, { nullable: true, description: '1 only.' })
  n?: number | null;

  @Field(() => Json, { nullable: true })
  tools?: unknown;

  @Field(() => Json, { nullable: true })
  toolChoice?: unknown;

  @Field(() => Boolean, { nullable: true })
  parallelToolCalls?: boolean | null;

  @Field(() => Json, { nullable: true })
  responseFormat?: unknown;

  @Field(() => Json, { nullable: true })
  streamOptions?: unknown;

  @Field(() => Boolean, { nullable: true })
  logprobs?: boolean | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 20 } })
  @Field(() => Int, { nullable: true })
  topLogprobs?: number | null;
}
