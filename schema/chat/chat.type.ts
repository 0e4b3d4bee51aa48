import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';
import { ChatFinishReason, ModelTier } from '../enums.js';

@ObjectType({
  simpleResolvers: true,
  description: 'A message of the model, or the part of it in one chunk.',
})
export class ChatMessage {
  @Field(() => String, { nullable: true, description: '`assistant`.' })
  role!: string | null;

  @Field(() => String, { nullable: true, description: 'Null if the model calls tools.' })
  content!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The model's reasoning as text, if the model returns it.",
  })
  reasoning!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Functions that the model calls, in the format of the chat-completions convention.',
  })
  toolCalls!: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'The function call, if the request used the older `functions`.',
  })
  functionCall!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The answer of a completion.' })
export class ChatCompletionChoice {
  @Field(() => Int, { description: '0.' })
  index!: number;

  @Field(() => ChatMessage, { description: "The model's message." })
  message!: ChatMessage;

  @Field(() => ChatFinishReason, { nullable: true, description: 'Why the answer ended.' })
  finishReason!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Log probabilities, if they were requested and the model returns them.',
  })
  logprobs!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The calculation of a charge.' })
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
    description: 'The credits charged: one for 1,000 tokens, times the multiplier, rounded up.',
  })
  creditsUsed!: number;

  @Field(() => CreditsBreakdown, { description: 'How the charge was calculated.' })
  creditsBreakdown!: CreditsBreakdown;

  @Field(() => Float, { description: 'The number of tokens of this model that are left in the period.' })
  tokensRemainingEstimate!: number;
}

/** Contract 2.3. */
@ObjectType({ simpleResolvers: true, description: 'A whole answer.' })
export class ChatCompletion {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: '`chat.completion`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String, { description: 'Id of the model that answered.' })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => [ChatCompletionChoice], { description: 'One choice.' })
  choices!: ChatCompletionChoice[];

  @Field(() => ChatUsage, { description: 'The tokens used, and the charge.' })
  usage!: ChatUsage;

  @Field(() => [String], { nullable: true, description: 'Addresses that a web search found.' })
  citations!: string[] | null;
}

@ObjectType({ simpleResolvers: true, description: 'The part of the answer in one chunk.' })
export class ChatChunkChoice {
  @Field(() => Int, { description: '0.' })
  index!: number;

  @Field(() => ChatMessage, { description: 'The new part of the message.' })
  delta!: ChatMessage;

  @Field(() => ChatFinishReason, {
    nullable: true,
    description: 'Why the answer ended, in the last chunk; null before.',
  })
  finishReason!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Log probabilities, if they were requested and the model returns them.',
  })
  logprobs!: unknown;
}

/** The chunk that REST streams (decisions 6, "Chat"), in camelCase. */
@ObjectType({ simpleResolvers: true, description: 'A chunk of a streamed answer.' })
export class ChatCompletionChunk {
  @Field(() => Int, {
    nullable: true,
    description:
      'The number of the chunk (1, 2, 3 and so on) if the call has an `idempotencyKey`. Pass the last one as `after` to continue.',
  })
  sequence?: number | null;

  @Field(() => ID, { description: 'The same in all chunks of an answer.' })
  id!: string;

  @Field(() => String, { description: '`chat.completion.chunk`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String, { description: 'Id of the model that answers.' })
  model!: string;

  @Field(() => [ChatChunkChoice], { description: 'One choice; empty in a chunk that has only the usage.' })
  choices!: ChatChunkChoice[];

  @Field(() => ModelTier, { nullable: true, description: 'Sent with the finish reason.' })
  modelTier!: string | null;

  @Field(() => ChatUsage, {
    nullable: true,
    description: 'Sent with the finish reason or in a separate chunk.',
  })
  usage!: ChatUsage | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Addresses that a web search found, sent with the finish reason.',
  })
  citations!: string[] | null;
}
