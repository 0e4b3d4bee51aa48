import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';

@ObjectType({
  simpleResolvers: true,
  description: 'A message of the model, or the part of it that a chunk brings.',
})
export class ChatMessage {
  @Field(() => String, { nullable: true, description: '`assistant`.' })
  role!: string | null;

  @Field(() => String, { nullable: true, description: 'Null where the model calls tools.' })
  content!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Functions that the model asks for, in the form of the convention.',
  })
  toolCalls!: unknown;

  @Field(() => Json, { nullable: true, description: 'The same in answer to the older `functions`.' })
  functionCall!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The answer of a completion.' })
export class ChatCompletionChoice {
  @Field(() => Int, { description: '0.' })
  index!: number;

  @Field(() => ChatMessage, { description: 'What the model says.' })
  message!: ChatMessage;

  @Field(() => String, { nullable: true, description: 'stop, length, tool_calls or content_filter.' })
  finishReason!: string | null;

  @Field(() => Json, { nullable: true, description: 'Where asked for and known.' })
  logprobs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'How a charge came about.' })
export class CreditsBreakdown {
  @Field(() => Float, { description: 'The charge before the multiplier.' })
  base!: number;
}

@ObjectType({ simpleResolvers: true, description: 'Tokens of a call, and its charge.' })
export class ChatUsage {
  @Field(() => Int, { description: 'Tokens of the conversation and the tools.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'Tokens of the answer.' })
  completionTokens!: number;

  @Field(() => Int, { description: 'Both together.' })
  totalTokens!: number;

  @Field(() => Float, {
    description: 'Credits charged: a thousand tokens are one, times the multiplier, rounded up.',
  })
  creditsUsed!: number;

  @Field(() => CreditsBreakdown, { description: 'How the charge came about.' })
  creditsBreakdown!: CreditsBreakdown;

  @Field(() => Float, { description: 'How many tokens of this model are left in the period.' })
  tokensRemainingEstimate!: number;
}

/** Contract 2.3. */
@ObjectType({ simpleResolvers: true, description: 'An answer in one piece.' })
export class ChatCompletion {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: '`chat.completion`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String, { description: 'Id of the model that answered.' })
  model!: string;

  @Field(() => String, { description: 'Tier of the model that was asked for: basic, standard or powerful.' })
  modelTier!: string;

  @Field(() => [ChatCompletionChoice], { description: 'One choice.' })
  choices!: ChatCompletionChoice[];

  @Field(() => ChatUsage, { description: 'What it took and cost.' })
  usage!: ChatUsage;

  @Field(() => [String], { nullable: true, description: 'Addresses that a web search gave.' })
  citations!: string[] | null;
}

@ObjectType({ simpleResolvers: true, description: 'What a chunk adds to the answer.' })
export class ChatChunkChoice {
  @Field(() => Int, { description: '0.' })
  index!: number;

  @Field(() => ChatMessage, { description: 'What is new.' })
  delta!: ChatMessage;

  @Field(() => String, {
    nullable: true,
    description: 'stop, length, tool_calls or content_filter, with the last piece; null before.',
  })
  finishReason!: string | null;

  @Field(() => Json, { nullable: true, description: 'Where asked for and known.' })
  logprobs!: unknown;
}

/** The chunk that REST streams (decisions 6, "Chat"), in camelCase. */
@ObjectType({ simpleResolvers: true, description: 'A piece of an answer that streams.' })
export class ChatCompletionChunk {
  @Field(() => ID, { description: 'The same in all chunks of an answer.' })
  id!: string;

  @Field(() => String, { description: '`chat.completion.chunk`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String, { description: 'Id of the model that answers.' })
  model!: string;

  @Field(() => [ChatChunkChoice], { description: 'One choice; empty where only the usage comes.' })
  choices!: ChatChunkChoice[];

  @Field(() => String, { nullable: true, description: 'With the finish reason.' })
  modelTier!: string | null;

  @Field(() => ChatUsage, {
    nullable: true,
    description: 'With the finish reason, or in a chunk of its own.',
  })
  usage!: ChatUsage | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Addresses that a web search gave, with the finish reason.',
  })
  citations!: string[] | null;
}
