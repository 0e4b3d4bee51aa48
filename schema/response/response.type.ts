import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { ModelTier, ResponseStatus } from '../enums.js';
import { connectionType } from '../connection.js';
import { DateTime, Json } from '../scalars.js';

@ObjectType('ModelResponseUsage', {
  simpleResolvers: true,
  description: 'The tokens of a response, and its charge.',
})
export class ResponseUsage {
  @Field(() => Int, { description: 'Tokens of the input, the instructions and the tools.' })
  inputTokens!: number;

  @Field(() => Int, { description: "Input tokens that were read from the upstream's cache." })
  cachedTokens!: number;

  @Field(() => Int, { description: 'Tokens of the output.' })
  outputTokens!: number;

  @Field(() => Int, { description: 'Output tokens of the reasoning.' })
  reasoningTokens!: number;

  @Field(() => Int, { description: 'Both together.' })
  totalTokens!: number;

  @Field(() => Float, { description: 'Credits charged, searches included.' })
  creditsUsed!: number;
}

@ObjectType('ModelResponse', {
  simpleResolvers: true,
  description: 'A generated text in the form of the Responses convention.',
})
export class Response {
  @Field(() => ID, { description: 'Such as `resp_01jd3v…`.' })
  id!: string;

  @Field(() => ResponseStatus, { description: 'Its status.' })
  status!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  /** The id of the model; the field `model` is an edge. */
  model!: string;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: string;

  @Field(() => ID, { nullable: true, description: 'Id of the response that this one continues.' })
  previousResponseId!: string | null;

  @Field(() => String, { description: 'All texts of the output, joined.' })
  outputText!: string;

  @Field(() => Json, { description: 'Items of the output, in the form of the convention.' })
  output!: unknown;

  @Field(() => ResponseUsage, {
    nullable: true,
    description: 'The tokens used, and the charge; null before the end.',
  })
  usage!: ResponseUsage | null;

  @Field(() => Json, { description: 'The whole response, in the form of the convention.' })
  object!: unknown;
}

export const ResponseConnection = connectionType('ModelResponse', () => Response);

@ObjectType('ModelResponseProgress', {
  description: 'An event of a response.',
})
export class ResponseProgress {
  @Field(() => Int, {
    description: 'The number of the event: 1, 2, 3 and so on. Pass the last one as `after` to continue.',
  })
  sequence!: number;

  @Field(() => String, { description: 'Such as `response.output_text.delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;

  /** The id of the response. */
  id!: string;
}

@ObjectType('ModelResponseEvent', {
  simpleResolvers: true,
  description: 'An event of a streamed response.',
})
export class ResponseEvent {
  @Field(() => Int, { description: 'The number of the event: 0, 1, 2 and so on.' })
  sequenceNumber!: number;

  @Field(() => String, { description: 'Such as `response.output_text.delta`.' })
  type!: string;

  @Field(() => Json, { description: 'The event, in the form of the convention.' })
  event!: unknown;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteResponse.' })
export class DeletedResponse {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => Response, {
    nullable: true,
    description: 'The response as it was; null if it was not written yet.',
  })
  response!: Response | null;
}

@ObjectType('CancelResponseByKeyResult', {
  simpleResolvers: true,
  description: 'The answer to cancelResponseByKey.',
})
export class CancelByKeyResult {
  @Field(() => Response, {
    nullable: true,
    description: 'The response, or the chat as one; null if nothing was started under the key yet.',
  })
  response!: Response | null;
}

@ObjectType('ModelResponseInputItems', {
  simpleResolvers: true,
  description: 'A page of the input items of a response.',
})
export class ResponseInputItems {
  @Field(() => Json, { description: 'Items with their ids, in the form of the convention.' })
  items!: unknown;

  @Field(() => Boolean, { description: 'Whether there are more items after this page.' })
  hasMore!: boolean;
}
