import { Migration } from '@mikro-orm/migrations';

/**
 * Vectors of passages and memories as bytes: one signed byte for each of 512 hashed features, scaled to the largest. An agent's 10,000
 * passages are 5 MB, which a process keeps at hand.
 */
export class Migration0009 extends Migration {
  override up(): void {
    this.addSql(`
      ALTER TABLE knowledge_chunks DROP COLUMN embedding, ADD COLUMN embedding bytea;
      ALTER TABLE agent_memories DROP COLUMN embedding, ADD COLUMN embedding bytea;
      CREATE UNIQUE INDEX agent_memories_once ON agent_memories (org_id, agent_id, COALESCE(end_user, ''), md5(content));`);
  }
}
