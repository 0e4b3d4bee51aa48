import { Migration } from '@mikro-orm/migrations';
import { RUN_MOVES } from './agents/runs.js';
import { AGENT_TABLES } from './agents/tables.js';
import { SYSTEM_ROLE, TENANT_ROLE, tenancySql } from './tenancy.js';

const OWN = `org_id = NULLIF(current_setting('penstock.org_id', true), '')`;

/** Templates and public agents are read by every organisation, and changed by their owner alone (decisions 6 "Agents"). */
const AGENT_TENANCY = `
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY agents_read ON agents FOR SELECT TO ${TENANT_ROLE} USING (${OWN} OR is_template OR is_public);
CREATE POLICY agents_insert ON agents FOR INSERT TO ${TENANT_ROLE} WITH CHECK (${OWN});
CREATE POLICY agents_update ON agents FOR UPDATE TO ${TENANT_ROLE} USING (${OWN}) WITH CHECK (${OWN});
CREATE POLICY agents_delete ON agents FOR DELETE TO ${TENANT_ROLE} USING (${OWN});
CREATE POLICY agents_system ON agents TO ${SYSTEM_ROLE} USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agents TO ${TENANT_ROLE}, ${SYSTEM_ROLE};
`;

/** Agents, runs, sessions, memory and knowledge. */
export class Migration0008 extends Migration {
  override up(): void {
    this.addSql(AGENT_TABLES);
    this.addSql(AGENT_TENANCY);
    for (const table of ['agent_sessions', 'agent_memories', 'knowledge_files', 'knowledge_chunks'])
      this.addSql(tenancySql(table, { system: true }));
    for (const table of ['agent_runs', 'agent_run_steps', 'agent_run_events'])
      this.addSql(tenancySql(table, { system: true, tenant: 'read' }));
    for (const sql of RUN_MOVES) this.addSql(sql);
  }
}
