import type { EntitySchema } from '@mikro-orm/postgresql';
import { accessEntities } from '../access/access.entity.js';
import { auditEntities } from '../audit/index.js';
import { InstallationEntity } from '../database/index.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { FileEntity } from '../files/index.js';
import { KnowledgeFileEntity } from '../agents/knowledge/knowledge.entity.js';
import { MemoryEntity } from '../agents/memory/memory.entity.js';
import { BudgetEntity } from '../metering/index.js';
import { webhookEntities } from '../webhooks/webhook.entity.js';

/** All entities, each of which stands beside its noun; `test/database/entities.test.ts` compares them with the tables. */
export const entities: readonly EntitySchema[] = [
  InstallationEntity,
  ...accessEntities,
  ...auditEntities,
  BudgetEntity,
  FileEntity,
  AgentEntity,
  KnowledgeFileEntity,
  MemoryEntity,
  ...webhookEntities,
];
