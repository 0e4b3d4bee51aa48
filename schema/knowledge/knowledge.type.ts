import { Field, Float, ID, InputType, Int, ObjectType } from 'type-graphql';
import { connectionType } from '../connection.js';
import { KnowledgeStatus } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Contract 2.13, decisions 6 "Agents". */
@ObjectType('KnowledgeFile', {
  simpleResolvers: true,
  description: 'A document that an agent uses for its answers.',
})
export class KnowledgeFileType {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that uses it.' })
  agentId!: string;

  @Field(() => String, { description: 'Its name, without folders.' })
  filename!: string;

  @Field(() => String, { description: 'Its media type, detected from its content.' })
  contentType!: string;

  @Field(() => Float, { description: 'The size in bytes.' })
  sizeBytes!: number;

  @Field(() => KnowledgeStatus, { description: 'Its status: whether runs can use it.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'The error if it could not be read; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => Int, { description: 'The number of passages that a search can find.' })
  chunkCount!: number;

  @Field(() => DateTime, { description: 'When it was uploaded.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When its status last changed.' })
  updatedAt!: Date;
}

@InputType({ description: 'A knowledge file for an agent. The plan limits its size.' })
export class UploadKnowledgeInput {
  @Field(() => String, {
    description:
      'The name distinguishes Markdown, CSV and plain text. Other formats are detected from the content.',
  })
  filename!: string;

  @Field(() => String, {
    description: 'The file as base64, or `file:<id>` of a file that was uploaded for knowledge.',
  })
  content!: string;
}

export const KnowledgeFileConnection = connectionType('KnowledgeFile', () => KnowledgeFileType);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteKnowledgeFile.' })
export class DeleteKnowledgeResult {
  @Field(() => ID, { description: 'Id of the deleted object.' })
  id!: string;

  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => KnowledgeFileType, { description: 'The file as it was.' })
  file!: KnowledgeFileType;
}

@ObjectType('AgentMemory', { simpleResolvers: true, description: 'A fact that a user told an agent.' })
export class AgentMemoryType {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that remembers it.' })
  agentId!: string;

  @Field(() => String, {
    nullable: true,
    description: "The id of the caller's end user; null if the run named none.",
  })
  endUser!: string | null;

  @Field(() => String, { description: 'The fact.' })
  content!: string;

  @Field(() => DateTime, { description: 'When it was stored.' })
  createdAt!: Date;
}

export const AgentMemoryConnection = connectionType('AgentMemory', () => AgentMemoryType);

@ObjectType('DeleteAgentMemoryResult', {
  simpleResolvers: true,
  description: 'The answer to deleteAgentMemory.',
})
export class DeleteMemoryResult {
  @Field(() => ID, { description: 'The id of what is gone.' })
  id!: string;

  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => AgentMemoryType, { description: 'The fact as it was.' })
  memory!: AgentMemoryType;
}
