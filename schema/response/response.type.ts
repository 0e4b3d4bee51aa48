import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { ModelTier, ResponseStatus } from '../enums.js';
import { connectionType } from '../connection.js';
import { DateTime, Json } from '../scalars.js';

@ObjectType('ModelResponseUsage', {
  simpleResolvers: true,
  description: 'Tokens of a response, and its charge.',
})
export class ResponseUsage {
  @Field(() => Int, { description: 'Tokens of the input, instructions and tools.' })
  inputTokens!: number;

  @Field(() => Int, { description: 'Of them, those that its maker had kept.' })
  cachedTokens!: number;

  @Field(() => Int, { description: 'Tokens of the output.' })
  outputTokens!: number;

  @Field(() => Int, { description: 'Of them, those that were thought and not said.' })
  reasoningTokens!: number;

  @Field(() => Int, { description: 'Both together.' })
  totalTokens!: number;

  @Field(() => Float, { description: 'Credits charged, searches included.' })
  creditsUsed!: number;
}

@ObjectType('ModelResponse', {
  simpleResolvers: true,
  description: 'A generation of text in the form of the Responses convention.',
})
export class Response {
  @Field(() => ID, { description: 'Such as `resp_01jd3v…`.' })
  id!: string;

  @Field(() => ResponseStatus, { description: 'How it ended, or how far it is.' })
  status!: string;

  @Field(() => DateTime, { description: 'When it began.' })
  createdAt!: Date;

  @Field(() => String, { description: 'Id of the model that answers.' })
  model!: string;

  @Field(() => ModelTier, { description: "The asked model's tier." })
  modelTier!: string;

  @Field(() => ID, { nullable: true, description: 'The response that this one goes on from.' })
  previousResponseId!: string | null;

  @Field(() => String, { description: 'All texts of the output, joined.' })
  outputText!: string;

  @Field(() => Json, { description: 'Items of the output, in the form of the convention.' })
  output!: unknown;

  @Field(() => ResponseUsage, { nullable: true, description: 'Once it is completed.' })
  usage!: ResponseUsage | null;

  @Field(() => Json, { description: 'The whole, in the form of the convention.' })
  object!: unknown;
}

export const ResponseConnection = connectionType('ModelResponse', () => Response);

@ObjectType('ModelResponseProgress', {
  description: 'An event of a response that is worked on without its caller.',
})
export class ResponseProgress {
  @Field(() => Int, { description: 'From 1, without a hole: pass it as `after` to go on from here.' })
  sequence!: number;

  @Field(() => String, { description: 'Such as `response.output_text.delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;

  /** Of the response. */
  id!: string;
}

@ObjectType('ModelResponseEvent', {
  simpleResolvers: true,
  description: 'An event of a response as it comes.',
})
export class ResponseEvent {
  @Field(() => Int, { description: 'From 0, without a hole.' })
  sequenceNumber!: number;

  @Field(() => String, { description: 'Such as `response.output_text.delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'What was deleted.' })
export class DeletedResponse {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;
}

@ObjectType('ModelResponseInputItems', {
  simpleResolvers: true,
  description: 'A page of the items that a response was made of.',
})
export class ResponseInputItems {
  @Field(() => Json, { description: 'Items with their ids, in the form of the convention.' })
  items!: unknown;

  @Field(() => Boolean, { description: 'Whether more follow.' })
  hasMore!: boolean;
}
