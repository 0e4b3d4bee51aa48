import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { Json } from '../scalars.js';
import { ModelTier } from '../enums.js';

@ObjectType('ModelMessageUsage', {
  simpleResolvers: true,
  description: 'Tokens of a message, and its charge.',
})
export class MessageUsage {
  @Field(() => Int, { description: 'Tokens of the input that no cache held.' })
  inputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the input that were put into a cache.' })
  cacheCreationInputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the input that a cache held.' })
  cacheReadInputTokens!: number;

  @Field(() => Int, { description: 'Tokens of the answer.' })
  outputTokens!: number;

  @Field(() => Float, { description: 'Credits charged, searches included.' })
  creditsUsed!: number;
}

@ObjectType('ModelMessage', {
  simpleResolvers: true,
  description: 'A generation of text in the form of the Messages convention.',
})
export class Message {
  @Field(() => ID, { description: 'Such as `msg_01jd3v…`.' })
  id!: string;

  @Field(() => String, { description: 'Id of the model that answered.' })
  model!: string;

  @Field(() => ModelTier, { description: "The asked model's tier." })
  modelTier!: string;

  @Field(() => String, { nullable: true, description: 'Why it ended, such as `end_turn` or `tool_use`.' })
  stopReason!: string | null;

  @Field(() => String, { description: 'All texts of the answer, joined.' })
  text!: string;

  @Field(() => MessageUsage, { description: 'Tokens and charge.' })
  usage!: MessageUsage;

  @Field(() => Json, { description: 'The whole, in the form of the convention.' })
  object!: unknown;
}

@ObjectType('ModelMessageEvent', {
  simpleResolvers: true,
  description: 'An event of a message as it comes.',
})
export class MessageEvent {
  @Field(() => String, { description: 'Such as `content_block_delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;
}

@ObjectType('ModelMessageTokens', {
  simpleResolvers: true,
  description: 'How long the input of a message is.',
})
export class MessageTokens {
  @Field(() => Int, { description: 'Tokens of messages, system and tools.' })
  inputTokens!: number;
}
