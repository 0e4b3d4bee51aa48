import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { modelId } from '../json-schemas.js';
import { ChatRole, Json, SafeInt } from '../scalars.js';

/** REST takes such a field as any unknown one, whatever it holds (decisions 6): it is ignored, or the model's maker judges it. */
const unchecked = Extensions({ unchecked: true });

@InputType({ description: 'One message of a conversation.' })
export class ChatMessageInput {
  @Field(() => ChatRole, { description: 'Who speaks.' })
  role!: string;

  @Field(() => Json, {
    nullable: true,
    description:
      'A string, or a list of parts (`text`, `image_url`). Null where an assistant message has `toolCalls`.',
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
    description: 'What an assistant message asked tools for, as it came.',
  })
  toolCalls?: unknown;

  @Field(() => Json, { nullable: true, description: 'The older form of `toolCalls`, as it came.' })
  functionCall?: unknown;

  @Field(() => String, { nullable: true, description: 'Which tool call a `tool` message answers.' })
  toolCallId?: string | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: 'What an assistant message thought, for a maker that wants it back, as it came.',
  })
  reasoningContent?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      'Details of what an assistant message thought, for a maker that wants them back, as they came.',
  })
  reasoningDetails?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description: 'What else an assistant message carries for its maker, as it came.',
  })
  extraContent?: unknown;
}

@InputType({
  description: 'A conversation to answer; what is absent takes the default of the API or of the model.',
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
    description: "Most tokens of the answer, default 2,048, at most the model's own bound.",
  })
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
      anyOf: [
        { type: 'string' },
        { type: 'array', maxItems: 64, items: { type: 'string' } },
        { type: 'null' },
      ],
    },
  })
  @Field(() => Json, { nullable: true, description: 'A string or a list of strings.' })
  stop?: unknown;

  @Field(() => String, { nullable: true, description: "The caller's own end user." })
  user?: string | null;

  @Field(() => SafeInt, {
    nullable: true,
    description: 'The same seed gives the same answer, on models that know seeds.',
  })
  seed?: number | null;

  @Extensions({ jsonSchema: { enum: [1], default: 1 } })
  @Field(() => Int, { nullable: true, description: '1 only.' })
  n?: number | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Functions that the model may ask for, in the form of the chat-completions convention.',
  })
  tools?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, `required`, or one function.' })
  toolChoice?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'The older form of `tools`: the functions alone. The answer then has `functionCall`.',
  })
  functions?: unknown;

  @Field(() => Json, { nullable: true, description: '`auto`, `none`, or `{name}` of one of `functions`.' })
  functionCall?: unknown;

  @Field(() => Boolean, { nullable: true, description: 'Whether it may ask for several tools at once.' })
  parallelToolCalls?: boolean | null;

  @Field(() => Json, {
    nullable: true,
    description: '`{type: text | json_object | json_schema, json_schema}` of the convention.',
  })
  responseFormat?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: '`{include_usage: true}` puts the usage into a chunk of its own.',
  })
  streamOptions?: unknown;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether to tell the log probabilities of the tokens.',
  })
  logprobs?: boolean | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 20 } })
  @Field(() => Int, { nullable: true, description: 'How many alternatives of each token to tell.' })
  topLogprobs?: number | null;

  @Extensions({ jsonSchema: { type: ['object', 'null'], additionalProperties: { type: 'number' } } })
  @Field(() => Json, { nullable: true, description: 'Token ids and how much likelier each is to be.' })
  logitBias?: unknown;

  @Field(() => String, {
    nullable: true,
    description: 'How much a model that reasons should, in the words that it knows.',
  })
  reasoningEffort?: string | null;

  @Field(() => String, { nullable: true, description: 'How long answers should be, where a model knows it.' })
  verbosity?: string | null;

  @Extensions({ jsonSchema: { type: ['object', 'null'] } })
  @Field(() => Json, { nullable: true, description: 'What most of the answer is expected to be.' })
  prediction?: unknown;

  @Field(() => String, { nullable: true, description: 'Groups calls whose prompts begin alike.' })
  promptCacheKey?: string | null;

  @Field(() => String, { nullable: true, description: "A stable id of the caller's end user." })
  safetyIdentifier?: string | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      "The caller's own notes on the call. Only where the operator lets it through to the model; else ignored.",
  })
  metadata?: unknown;

  @unchecked
  @Field(() => Boolean, {
    nullable: true,
    description:
      'Whether the maker of the model keeps the answer. Only where the operator lets it through to the model; else ignored.',
  })
  store?: boolean | null;

  @unchecked
  @Field(() => String, {
    nullable: true,
    description:
      'How soon to answer, at what price to the operator. Only where the operator lets it through to the model; else ignored.',
  })
  serviceTier?: string | null;

  @unchecked
  @Field(() => [String], {
    nullable: true,
    description:
      'What to answer in besides text. Only where the operator lets it through to the model; else ignored.',
  })
  modalities?: string[] | null;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      'Voice and format of a spoken answer. Only where the operator lets it through to the model; else ignored.',
  })
  audio?: unknown;

  @unchecked
  @Field(() => Json, {
    nullable: true,
    description:
      'How the model itself searches the web. Only where the operator lets it through to the model; else ignored.',
  })
  webSearchOptions?: unknown;

  @unchecked
  @Field(() => String, {
    nullable: true,
    description:
      'How long the beginning of the prompt is kept ready. Only where the operator lets it through to the model; else ignored.',
  })
  promptCacheRetention?: string | null;

  @unchecked
  @Field(() => Int, {
    nullable: true,
    description:
      'Of how many tokens the next one is chosen. Only where the operator lets it through to the model; else ignored.',
  })
  topK?: number | null;

  @unchecked
  @Field(() => Float, {
    nullable: true,
    description:
      'How likely a token must be, beside the likeliest, to be chosen. Only where the operator lets it through to the model; else ignored.',
  })
  minP?: number | null;

  @unchecked
  @Field(() => Float, {
    nullable: true,
    description:
      'How much less likely what was said becomes. Only where the operator lets it through to the model; else ignored.',
  })
  repetitionPenalty?: number | null;
}
