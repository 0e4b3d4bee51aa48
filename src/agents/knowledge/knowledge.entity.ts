import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import { tenantFilter } from '../../database/index.js';
import type { KnowledgeFile } from '../agents.types.js';

/** A knowledge file of an agent (contract 2.13). Workers update its state by statements (knowledge.queries.ts). */
export const KnowledgeFileEntity = defineEntity({
  name: 'KnowledgeFile',
  tableName: 'knowledge_files',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    agentId: p.text(),
    fileId: p.text(),
    filename: p.text(),
    contentType: p.text(),
    sizeBytes: p.integer().columnType('bigint'),
    status: p.text().$type<KnowledgeFile['status']>().defaultRaw("'pending'"),
    errorMessage: p.text().nullable(),
    chunkCount: p.integer().default(0),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
    updatedAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
  filters: tenantFilter(),
});

export function toKnowledgeFile(row: InferEntity<typeof KnowledgeFileEntity>): KnowledgeFile {
  return {
    id: row.id,
    agentId: row.agentId,
    filename: row.filename,
    contentType: row.contentType,
    sizeBytes: Number(row.sizeBytes),
    status: row.status,
    errorMessage: row.errorMessage ?? null,
    chunkCount: row.chunkCount,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
