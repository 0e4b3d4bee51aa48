import { Field, Float, InputType, Int } from 'type-graphql';
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

  @Field(() => String, { nullable: true })
  model?: string | null;

  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Field(() => Int, { nullable: true })
  maxTokens?: number | null;

  @Field(() => Int, { nullable: true, description: 'Beats `maxTokens`.' })
  maxCompletionTokens?: number | null;

  @Field(() => Boolean, { nullable: true, description: 'Search the web and cite what was found.' })
  webSearch?: boolean | null;

  @Field(() => Float, { nullable: true, description: '0 to 1.' })
  topP?: number | null;

  @Field(() => Float, { nullable: true, description: '-2 to 2.' })
  frequencyPenalty?: number | null;

  @Field(() => Float, { nullable: true, description: '-2 to 2.' })
  presencePenalty?: number | null;

  @Field(() => Json, { nullable: true, description: 'A string or a list of strings.' })
  stop?: unknown;

  @Field(() => String, { nullable: true, description: "The caller's own end user." })
  user?: string | null;

  @Field(() => SafeInt, { nullable: true })
  seed?: number | null;

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

  @Field(() => Int, { nullable: true })
  topLogprobs?: number | null;
}
