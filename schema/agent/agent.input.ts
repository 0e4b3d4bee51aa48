import { Field, Float, InputType, Int } from 'type-graphql';

@InputType({ description: 'Contract 4.8.' })
export class CreateAgentInput {
  @Field(() => String, { description: 'At most 100 characters.' })
  name!: string;

  @Field(() => String, { nullable: true, description: 'At most 500 characters.' })
  description?: string | null;

  @Field(() => String, { nullable: true, description: 'Default `bot`.' })
  icon?: string | null;

  @Field(() => String, { description: 'At most 10,000 characters.' })
  systemPrompt!: string;

  @Field(() => String, { nullable: true, description: 'A chat model; default: the default one.' })
  model?: string | null;

  @Field(() => [String], { nullable: true, description: 'Tool ids; default none.' })
  tools?: string[] | null;

  @Field(() => Float, { nullable: true, description: '0 to 2, default 0.7.' })
  temperature?: number | null;

  @Field(() => Int, { nullable: true, description: '100 to 8000, default 4000.' })
  maxTokens?: number | null;

  @Field(() => Int, { nullable: true, description: '1 to 20, default 10.' })
  maxIterations?: number | null;

  @Field(() => Boolean, { nullable: true, description: 'Default false.' })
  memoryEnabled?: boolean | null;
}

@InputType({ description: 'Fields that are left out stay as they are.' })
export class UpdateAgentInput {
  @Field(() => String, { nullable: true })
  name?: string | null;

  @Field(() => String, { nullable: true })
  description?: string | null;

  @Field(() => String, { nullable: true })
  icon?: string | null;

  @Field(() => String, { nullable: true })
  systemPrompt?: string | null;

  @Field(() => String, { nullable: true })
  model?: string | null;

  @Field(() => [String], { nullable: true })
  tools?: string[] | null;

  @Field(() => Float, { nullable: true })
  temperature?: number | null;

  @Field(() => Int, { nullable: true })
  maxTokens?: number | null;

  @Field(() => Int, { nullable: true })
  maxIterations?: number | null;

  @Field(() => Boolean, { nullable: true })
  memoryEnabled?: boolean | null;

  @Field(() => Boolean, { nullable: true })
  isPublic?: boolean | null;
}

@InputType()
export class DuplicateAgentInput {
  @Field(() => String, { nullable: true, description: 'Default: the name with ` (copy)`.' })
  name?: string | null;
}

@InputType({ description: 'An image (JPEG, PNG, WebP) or a document (PDF, Markdown, TXT, CSV, DOCX).' })
export class RunAttachmentInput {
  @Field(() => String, { description: '`image` or `document`.' })
  type!: string;

  @Field(() => String, { description: 'An http(s) or `data:` URL, or base64.' })
  url!: string;

  @Field(() => String, { nullable: true })
  name?: string | null;
}

@InputType()
export class RunHistoryMessageInput {
  @Field(() => String, { description: '`user` or `assistant`.' })
  role!: string;

  @Field(() => String)
  content!: string;
}

@InputType({ description: 'Contract 4.8.' })
export class RunAgentInput {
  @Field(() => String, { description: 'At most 10,000 characters.' })
  input!: string;

  @Field(() => [RunAttachmentInput], { nullable: true })
  attachments?: RunAttachmentInput[] | null;

  @Field(() => [RunHistoryMessageInput], { nullable: true })
  conversationHistory?: RunHistoryMessageInput[] | null;

  @Field(() => String, { nullable: true, description: 'Continues a session.' })
  sessionId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The caller's own end user, whose memories are used; at most 200 characters.",
  })
  user?: string | null;
}
