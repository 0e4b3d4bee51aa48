import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';

@ObjectType({
  simpleResolvers: true,
  description: 'A message of the model, or the part of it that a chunk brings.',
})
export class ChatMessage {
  @Field(() => String, { nullable: true })
  role!: string | null;

  @Field(() => String, { nullable: true, description: 'Null where the model calls tools.' })
  content!: string | null;

  @Field(() => Json, { nullable: true })
  toolCalls!: unknown;
}

@ObjectType({ simpleResolvers: true })
export class ChatCompletionChoice {
  @Field(() => Int)
  index!: number;

  @Field(() => ChatMessage)
  message!: ChatMessage;

  @Field(() => String, { nullable: true, description: 'stop, length, tool_calls or content_filter.' })
  finishReason!: string | null;

  @Field(() => Json, { nullable: true })
  logprobs!: unknown;
}

@ObjectType({ simpleResolvers: true })
export class CreditsBreakdown {
  @Field(() => Float, { description: 'The charge before the multiplier.' })
  base!: number;
}

@ObjectType({ simpleResolvers: true })
export class ChatUsage {
  @Field(() => Int)
  promptTokens!: number;

  @Field(() => Int)
  completionTokens!: number;

  @Field(() => Int)
  totalTokens!: number;

  @Field(() => Float)
  creditsUsed!: number;

  @Field(() => CreditsBreakdown)
  creditsBreakdown!: CreditsBreakdown;

  @Field(() => Float)
  tokensRemainingEstimate!: number;
}

/** Contract 2.3. */
@ObjectType({ simpleResolvers: true })
export class ChatCompletion {
  @Field(() => ID)
  id!: string;

  @Field(() => String, { description: '`chat.completion`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => [ChatCompletionChoice])
  choices!: ChatCompletionChoice[];

  @Field(() => ChatUsage)
  usage!: ChatUsage;
}

@ObjectType({ simpleResolvers: true })
export class ChatChunkChoice {
  @Field(() => Int)
  index!: number;

  @Field(() => ChatMessage)
  delta!: ChatMessage;

  @Field(() => String, { nullable: true })
  finishReason!: string | null;

  @Field(() => Json, { nullable: true })
  logprobs!: unknown;
}

/** The chunk that REST streams (decisions.md 6, "Chat"), in camelCase. */
@ObjectType({ simpleResolvers: true })
export class ChatCompletionChunk {
  @Field(() => ID)
  id!: string;

  @Field(() => String, { description: '`chat.completion.chunk`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String)
  model!: string;

  @Field(() => [ChatChunkChoice])
  choices!: ChatChunkChoice[];

  @Field(() => String, { nullable: true, description: 'With the finish reason.' })
  modelTier!: string | null;

  @Field(() => ChatUsage, {
    nullable: true,
    description: 'With the finish reason, or in a chunk of its own.',
  })
  usage!: ChatUsage | null;
}
