import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';
import { ModelTier } from '../enums.js';

@ObjectType('ModelMessageUsage', {
  simpleResolvers: true,
  description: 'The tokens of a message, and its charge.',
})
export class MessageUsage {
  @Field(() => Int, { description: 'Tokens of the input that were not in a cache.' })
  inputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the input that were written to a cache.' })
  cacheCreationInputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the input that were read from a cache.' })
  cacheReadInputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the answer.' })
  outputTokens!: number;

  @Field(() => Float, { description: 'Credits charged, searches included.' })
  creditsUsed!: number;
}

@ObjectType('ModelMessage', {
  simpleResolvers: true,
  description: 'A generated text in the form of the Messages convention.',
})
export class Message {
  @Field(() => ID, { description: 'Such as `msg_01jd3v…`.' })
  id!: string;

  @Field(() => String, { description: 'Id of the model that answered.' })
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The reason of its end, such as `end_turn` or `tool_use`.',
  })
  stopReason!: string | null;

  @Field(() => String, { description: 'All texts of the answer, joined.' })
  text!: string;

  @Field(() => MessageUsage, { description: 'The tokens used, and the charge.' })
  usage!: MessageUsage;

  @Field(() => Json, { description: 'The whole message, in the form of the convention.' })
  object!: unknown;
}

@ObjectType('ModelMessageEvent', {
  simpleResolvers: true,
  description: 'An event of a streamed message.',
})
export class MessageEvent {
  @Field(() => String, { description: 'Such as `content_block_delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;
}

@ObjectType('ModelMessageTokens', {
  simpleResolvers: true,
  description: "The length of a request's input.",
})
export class MessageTokens {
  @Field(() => Int, { description: 'Tokens of the messages, the system prompt and the tools.' })
  inputTokens!: number;
}
