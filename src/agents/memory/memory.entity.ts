import { defineEntity, p } from '@mikro-orm/postgresql';
import { tenantFilter } from '../../database/index.js';

/** A memory that an agent has of an end user. Statements write and recall it (memory.queries.ts). */
export const MemoryEntity = defineEntity({
  name: 'Memory',
  tableName: 'agent_memories',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    agentId: p.text(),
    endUser: p.text().nullable(),
    content: p.text(),
    createdAt: p.datetime(),
  },
  filters: tenantFilter(),
});
