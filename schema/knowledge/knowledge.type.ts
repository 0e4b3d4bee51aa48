import { Field, Float, ID, InputType, Int, ObjectType } from 'type-graphql';
import { connectionType } from '../connection.js';
import { KnowledgeStatus } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Contract 2.13, decisions.md 6 "Agents". */
@ObjectType('KnowledgeFile', {
  simpleResolvers: true,
  description: 'A document that an agent answers out of.',
})
export class KnowledgeFileType {
  @Field(() => ID)
  id!: string;

  @Field(() => ID)
  agentId!: string;

  @Field(() => String)
  filename!: string;

  @Field(() => String)
  contentType!: string;

  @Field(() => Float)
  sizeBytes!: number;

  @Field(() => KnowledgeStatus)
  status!: string;

  @Field(() => String, { nullable: true })
  errorMessage!: string | null;

  @Field(() => Int, { description: 'Passages that retrieval can find.' })
  chunkCount!: number;

  @Field(() => DateTime)
  createdAt!: Date;

  @Field(() => DateTime)
  updatedAt!: Date;
}

@InputType()
export class UploadKnowledgeInput {
  @Field(() => String, {
    description: 'The name tells Markdown, CSV and plain text apart; the rest is judged by content.',
  })
  filename!: string;

  @Field(() => String, { description: 'The file as base64.' })
  content!: string;
}

@ObjectType({ simpleResolvers: true })
export class DeleteKnowledgeResult {
  @Field(() => Boolean)
  success!: boolean;
}

@ObjectType('AgentMemory', { simpleResolvers: true, description: 'Something that a user told an agent.' })
export class AgentMemoryType {
  @Field(() => ID)
  id!: string;

  @Field(() => ID)
  agentId!: string;

  @Field(() => String, {
    nullable: true,
    description: "The caller's own end user; null where the run named none.",
  })
  endUser!: string | null;

  @Field(() => String)
  content!: string;

  @Field(() => DateTime)
  createdAt!: Date;
}

export const AgentMemoryConnection = connectionType('AgentMemory', () => AgentMemoryType);
