import { defineEntity, p } from '@mikro-orm/postgresql';
import { tenantFilter } from '../../database/index.js';

/** What an agent remembers of an end user. It is written, and recalled, by statements (memory.queries.ts). */
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
