import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { ChatRole } from '../enums.js';
import { Json, SafeInt } from '../scalars.js';

/** REST treats such a field like any unknown field (decisions 6): it is ignored, or the model's maker checks it. */
const unchecked = Extensions({ unchecked: true });

@InputType({ description: 'One message of a conversation.' })
export class ChatMessageInput {
  @Field(() => ChatRole, { description: 'The role of the author.' })
  role!: string;

  @Field(() => Json, {
    nullable: true,
    description:
      'A string, or a list of parts (`text`, `image_url`). May be null if an assistant message has `toolCalls`.',
  })
  content?: unknown;

  @Field(() => [String], {
    nullable: true,
    description: 'URLs, data URLs or base64 of up to 4 images, each up to 20 MB.',
  })
  images?: string[] | null;

  @Field(() => String, { nullable: true, description: 'Name of the participant.' })
  name?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'The tool calls of an assistant message, unchanged.',
  })
  toolCalls?: unknown;

  @Field(() => Json, { nullable: true, description: 'The older form of `toolCalls`, unchanged.' })
  functionCall?: unknown;

  @Field(() => String, {
    nullable: true,
    description: 'The id of the tool call that a `tool` message answers.',
  })
  toolCallId?: string | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: 'The reasoning of an assistant message, unchanged, for providers that need it back.',
  })
  reasoningContent?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      'Details of the reasoning of an assistant message, unchanged, for providers that need them back.',
  })
  reasoningDetails?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: 'Other data that the provider attached to an assistant message, unchanged.',
  })
  extraContent?: unknown;
}

@InputType({
  description: 'A conversation to answer. Absent fields take the default of the API or of the model.',
})
export class ChatCompletionInput {
  @Field(() => [ChatMessageInput], { description: 'The conversation so far, oldest first.' })
  messages!: ChatMessageInput[];

  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model; default: see `models(type: chat)`.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 2, default: 0.7 } })
  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10_000_000, default: 2048 } })
  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of tokens in the answer. Default 2,048; at most the model's own limit.",
  })
  maxTokens?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 10_000_000 } })
  @Field(() => Int, { nullable: true, description: 'Used instead of `maxTokens` if both are given.' })
  maxCompletionTokens?: number | null;

  @Extensions({ jsonSchema: { default: false } })
  @Field(() => Boolean, { nullable: true, description: 'Search the web and cite the results.' })
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
      anyOf: [
        { type: 'string' },
        { type: 'array', maxItems: 64, items: { type: 'string' } },
        { type: 'null' },
      ],
    },
  })
  @Field(() => Json, { nullable: true, description: 'A string or a list of strings.' })
  stop?: unknown;

  @Field(() => String, { nullable: true, description: "An id of the caller's end user." })
  user?: string | null;

  @Field(() => SafeInt, {
    nullable: true,
    description: 'The same seed gives the same answer, on models that support seeds.',
  })
  seed?: number | null;

  @Extensions({ jsonSchema: { enum: [1], default: 1 } })
  @Field(() => Int, { nullable: true, description: 'Must be 1.' })
  n?: number | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Functions that the model may call, in the format of the chat-completions convention.',
  })
  tools?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, `required`, or one function.' })
  toolChoice?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'The older form of `tools`: only the functions. The answer then has `functionCall`.',
  })
  functions?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, or `{name}` of one of `functions`.' })
  functionCall?: unknown;

  @Field(() => Boolean, { nullable: true, description: 'Whether the model may call several tools at once.' })
  parallelToolCalls?: boolean | null;

  @Field(() => Json, {
    nullable: true,
    description: '`{type: text | json_object | json_schema, json_schema}` of the convention.',
  })
  responseFormat?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: '`{include_usage: true}` sends the usage in a separate chunk.',
  })
  streamOptions?: unknown;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether to return the log probabilities of the tokens.',
  })
  logprobs?: boolean | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 20 } })
  @Field(() => Int, { nullable: true, description: 'How many alternatives to return for each token.' })
  topLogprobs?: number | null;

  @Extensions({ jsonSchema: { type: ['object', 'null'], additionalProperties: { type: 'number' } } })
  @Field(() => Json, {
    nullable: true,
    description: 'Token ids, each with a value that makes the token more or less likely.',
  })
  logitBias?: unknown;

  @Field(() => String, {
    nullable: true,
    description: 'How much the model should reason, in words that the model supports.',
  })
  reasoningEffort?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'How long the answer should be, on models that support it.',
  })
  verbosity?: string | null;

  @Extensions({ jsonSchema: { type: ['object', 'null'] } })
  @Field(() => Json, { nullable: true, description: 'Text that most of the answer is expected to repeat.' })
  prediction?: unknown;

  @Field(() => String, { nullable: true, description: 'Groups calls whose prompts have the same beginning.' })
  promptCacheKey?: string | null;

  @Field(() => String, { nullable: true, description: "A stable id of the caller's end user." })
  safetyIdentifier?: string | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: "The caller's own data about the call. Ignored unless the operator allows it for the model.",
  })
  metadata?: unknown;

  @unchecked
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the model's provider stores the answer. Ignored unless the operator allows it for the model.",
  })
  store?: boolean | null;

  @unchecked
  @Field(() => String, {
    nullable: true,
    description:
      "The provider's processing tier: its speed and its price for the operator. Ignored unless the operator allows it for the model.",
  })
  serviceTier?: string | null;

  @unchecked
  @Field(() => [String], {
    nullable: true,
    description: 'Output types besides text. Ignored unless the operator allows it for the model.',
  })
  modalities?: string[] | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: 'Voice and format of a spoken answer. Ignored unless the operator allows it for the model.',
  })
  audio?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      "Options of the model's own web search. Ignored unless the operator allows it for the model.",
  })
  webSearchOptions?: unknown;

  @unchecked
  @Field(() => String, {
    nullable: true,
    description:
      'How long the provider caches the beginning of the prompt. Ignored unless the operator allows it for the model.',
  })
  promptCacheRetention?: string | null;

  @unchecked
  @Field(() => Int, {
    nullable: true,
    description:
      'The next token is chosen from this number of most likely tokens. Ignored unless the operator allows it for the model.',
  })
  topK?: number | null;

  @unchecked
  @Field(() => Float, {
    nullable: true,
    description:
      'The minimum probability of a token, relative to the most likely token. Ignored unless the operator allows it for the model.',
  })
  minP?: number | null;

  @unchecked
  @Field(() => Float, {
    nullable: true,
    description:
      'How much less likely repeated tokens become. Ignored unless the operator allows it for the model.',
  })
  repetitionPenalty?: number | null;
}
