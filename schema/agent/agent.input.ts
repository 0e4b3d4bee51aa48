import { Extensions, Field, Float, InputType, Int } from 'type-graphql';
import { AGENT_TOOLS, modelId, nonBlank } from '../json-schemas.js';
import { RunAttachmentType, RunMessageRole } from '../enums.js';

@InputType({ description: 'A new agent.' })
export class CreateAgentInput {
  @Extensions({ jsonSchema: nonBlank(100) })
  @Field(() => String, { description: 'At most 100 characters.' })
  name!: string;

  @Extensions({ jsonSchema: { maxLength: 500 } })
  @Field(() => String, { nullable: true, description: 'At most 500 characters.' })
  description?: string | null;

  @Extensions({ jsonSchema: { maxLength: 100, default: 'bot' } })
  @Field(() => String, { nullable: true, description: 'Default `bot`.' })
  icon?: string | null;

  @Extensions({ jsonSchema: nonBlank(10_000) })
  @Field(() => String, { description: 'At most 10,000 characters.' })
  systemPrompt!: string;

  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a chat model. Default: the default chat model.',
  })
  model?: string | null;

  @Extensions({ jsonSchema: AGENT_TOOLS })
  @Field(() => [String], { nullable: true, description: 'Tool ids; default none.' })
  tools?: string[] | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 2, default: 0.7 } })
  @Field(() => Float, { nullable: true, description: '0 to 2, default 0.7.' })
  temperature?: number | null;

  @Extensions({ jsonSchema: { minimum: 100, maximum: 8000, default: 4000 } })
  @Field(() => Int, { nullable: true, description: '100 to 8000, default 4000.' })
  maxTokens?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 20, default: 10 } })
  @Field(() => Int, { nullable: true, description: '1 to 20, default 10.' })
  maxIterations?: number | null;

  @Extensions({ jsonSchema: { default: false } })
  @Field(() => Boolean, { nullable: true, description: 'Default false.' })
  memoryEnabled?: boolean | null;
}

@InputType({ description: 'The changes of an agent. Absent fields stay as they are.' })
export class UpdateAgentInput {
  @Extensions({ notNull: true, jsonSchema: nonBlank(100) })
  @Field(() => String, { nullable: true, description: 'At most 100 characters.' })
  name?: string | null;

  @Extensions({ jsonSchema: { maxLength: 500 } })
  @Field(() => String, { nullable: true, description: 'At most 500 characters.' })
  description?: string | null;

  @Extensions({ jsonSchema: { maxLength: 100 } })
  @Field(() => String, { nullable: true, description: 'Identifier of an icon.' })
  icon?: string | null;

  @Extensions({ notNull: true, jsonSchema: nonBlank(10_000) })
  @Field(() => String, { nullable: true, description: 'At most 10,000 characters.' })
  systemPrompt?: string | null;

  @Extensions({ jsonSchema: modelId('sandbox/chat-basic') })
  @Field(() => String, { nullable: true, description: 'Id of a chat model.' })
  model?: string | null;

  @Extensions({ jsonSchema: AGENT_TOOLS })
  @Field(() => [String], {
    nullable: true,
    description: 'Tool ids. The list replaces the old list. The plan limits their number.',
  })
  tools?: string[] | null;

  @Extensions({ jsonSchema: { minimum: 0, maximum: 2 } })
  @Field(() => Float, { nullable: true, description: '0 to 2.' })
  temperature?: number | null;

  @Extensions({ jsonSchema: { minimum: 100, maximum: 8000 } })
  @Field(() => Int, { nullable: true, description: '100 to 8,000.' })
  maxTokens?: number | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 20 } })
  @Field(() => Int, { nullable: true, description: "1 to 20, and at most the plan's limit." })
  maxIterations?: number | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether runs use facts that users told the agent in earlier runs.',
  })
  memoryEnabled?: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether every organisation may read, run and duplicate it.',
  })
  isPublic?: boolean | null;
}

@InputType({ description: 'The differences between a copy and its source.' })
export class DuplicateAgentInput {
  @Extensions({ jsonSchema: nonBlank(100) })
  @Field(() => String, { nullable: true, description: 'Default: the name with ` (copy)`.' })
  name?: string | null;
}

@Extensions({ closed: true })
@InputType({ description: 'An image (JPEG, PNG, WebP) or a document (PDF, Markdown, TXT, CSV, DOCX).' })
export class RunAttachmentInput {
  @Field(() => RunAttachmentType, { description: 'The type of the attachment.' })
  type!: string;

  @Extensions({ jsonSchema: { minLength: 1 } })
  @Field(() => String, { description: 'An http(s) or `data:` URL, or base64.' })
  url!: string;

  @Extensions({ jsonSchema: { maxLength: 200 } })
  @Field(() => String, { nullable: true, description: 'Its file name, which the model sees.' })
  name?: string | null;
}

@Extensions({ closed: true })
@InputType({ description: 'One earlier message of a conversation that the caller stores.' })
export class RunHistoryMessageInput {
  @Field(() => RunMessageRole, { description: 'The author of the message.' })
  role!: string;

  @Field(() => String, { description: 'The text of the message.' })
  content!: string;
}

@InputType({ description: 'The task of a run, with attachments and earlier messages.' })
export class RunAgentInput {
  @Extensions({ jsonSchema: nonBlank(10_000) })
  @Field(() => String, { description: 'At most 10,000 characters.' })
  input!: string;

  @Extensions({
    jsonSchema: {
      maxItems: 10,
      contains: { properties: { type: { const: 'image' } } },
      minContains: 0,
      maxContains: 4,
    },
  })
  @Field(() => [RunAttachmentInput], {
    nullable: true,
    description: 'At most ten, at most four of them images.',
  })
  attachments?: RunAttachmentInput[] | null;

  @Extensions({ jsonSchema: { maxItems: 200 } })
  @Field(() => [RunHistoryMessageInput], {
    nullable: true,
    description:
      'Earlier messages, if the caller stores the conversation: at most 200 messages and 400,000 characters together.',
  })
  conversationHistory?: RunHistoryMessageInput[] | null;

  @Extensions({ jsonSchema: { maxLength: 200 } })
  @Field(() => String, { nullable: true, description: 'Id of the session to continue.' })
  sessionId?: string | null;

  @Extensions({ jsonSchema: { maxLength: 200 } })
  @Field(() => String, {
    nullable: true,
    description: "An id of the caller's end user, whose memories are used; at most 200 characters.",
  })
  user?: string | null;
}
