import { Field, Float, ID, InputType, Int, ObjectType } from 'type-graphql';
import { connectionType } from '../connection.js';
import { KnowledgeStatus } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Contract 2.13, decisions 6 "Agents". */
@ObjectType('KnowledgeFile', {
  simpleResolvers: true,
  description: 'A document that an agent answers out of.',
})
export class KnowledgeFileType {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that answers out of it.' })
  agentId!: string;

  @Field(() => String, { description: 'Its name, without folders.' })
  filename!: string;

  @Field(() => String, { description: 'Its media type, judged by its content.' })
  contentType!: string;

  @Field(() => Float, { description: 'Bytes.' })
  sizeBytes!: number;

  @Field(() => KnowledgeStatus, { description: 'Whether it can be used yet.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'Why it could not be read; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => Int, { description: 'Passages that retrieval can find.' })
  chunkCount!: number;

  @Field(() => DateTime, { description: 'When it was uploaded.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When its status last changed.' })
  updatedAt!: Date;
}

@InputType({ description: "A file for an agent's knowledge; the plan bounds its size." })
export class UploadKnowledgeInput {
  @Field(() => String, {
    description: 'The name tells Markdown, CSV and plain text apart; the rest is judged by content.',
  })
  filename!: string;

  @Field(() => String, { description: 'The file as base64.' })
  content!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to a deletion.' })
export class DeleteKnowledgeResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;
}

@ObjectType('AgentMemory', { simpleResolvers: true, description: 'Something that a user told an agent.' })
export class AgentMemoryType {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that was told.' })
  agentId!: string;

  @Field(() => String, {
    nullable: true,
    description: "The caller's own end user; null where the run named none.",
  })
  endUser!: string | null;

  @Field(() => String, { description: 'What was told.' })
  content!: string;

  @Field(() => DateTime, { description: 'When.' })
  createdAt!: Date;
}

export const AgentMemoryConnection = connectionType('AgentMemory', () => AgentMemoryType);
