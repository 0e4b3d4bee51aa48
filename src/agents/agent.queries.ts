/** Locks the creation of agents for one organisation, so that the plan's limit holds. */
export const LOCK_CREATIONS = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7308))';

/** Writes the program's templates. Unchanged rows are not written, and several processes may do this at the same time. */
export const INSTALL_TEMPLATES = `INSERT INTO agents (id, name, description, icon, system_prompt, model, tools, temperature, max_tokens, max_iterations, memory_enabled,
    is_template, template_category)
  SELECT t.id, t.name, t.description, t.icon, t.system_prompt, t.model, t.tools, t.temperature, 4000, t.max_iterations,
    t.memory_enabled, true, t.template_category
  FROM jsonb_to_recordset($1::jsonb) AS t (id text, name text, description text, icon text, system_prompt text, model text,
    tools text[], temperature double precision, max_iterations int, memory_enabled boolean, template_category text)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, icon = excluded.icon,
    system_prompt = excluded.system_prompt, model = excluded.model, tools = excluded.tools, temperature = excluded.temperature,
    max_iterations = excluded.max_iterations, memory_enabled = excluded.memory_enabled,
    template_category = excluded.template_category, updated_at = now()
  WHERE (agents.name, agents.description, agents.icon, agents.system_prompt, agents.model, agents.tools, agents.temperature,
    agents.max_iterations, agents.memory_enabled, agents.template_category) IS DISTINCT FROM (excluded.name, excluded.description,
    excluded.icon, excluded.system_prompt, excluded.model, excluded.tools, excluded.temperature, excluded.max_iterations,
    excluded.memory_enabled, excluded.template_category)`;

/** How many runs the retention deletes in one statement. */
const BATCH = 200;

export const EXPIRED = {
  name: 'agent_runs_expired',
  text: `SELECT id FROM agent_runs WHERE completed_at < now() - $1 * interval '1 day' ORDER BY completed_at LIMIT ${BATCH}`,
};

export const FILES_OF_RUNS = {
  name: 'agent_runs_expired_files',
  text: `SELECT org_id AS "orgId", array_agg(id) AS ids FROM files WHERE run_id = ANY ($1) GROUP BY org_id`,
};

/** A session is deleted with its last run; steps and events are deleted with their run. */
export const FORGET_RUNS = {
  name: 'agent_runs_forget',
  text: `WITH gone AS (
      DELETE FROM agent_runs WHERE id = ANY ($1) AND completed_at IS NOT NULL RETURNING id, org_id, agent_id, session_id
    ), ended AS (
      DELETE FROM agent_sessions s USING gone g
      WHERE (s.org_id, s.agent_id, s.session_id) = (g.org_id, g.agent_id, g.session_id) AND NOT EXISTS (
        SELECT 1 FROM agent_runs r
        WHERE (r.org_id, r.agent_id, r.session_id) = (g.org_id, g.agent_id, g.session_id) AND r.id <> ALL ($1))
    )
    SELECT count(*)::int AS n FROM gone`,
};

/** An upload that raced its agent's deletion, or a deletion whose process died half-way. */
export const ORPHANED_AGENT_FILES = `SELECT f.org_id AS "orgId", array_agg(f.file_id) AS ids, array_agg(f.id) AS "knowledgeIds"
  FROM knowledge_files f JOIN agents a ON a.id = f.agent_id AND a.org_id = f.org_id AND a.deleted_at < now() - interval '1 minute'
  GROUP BY f.org_id LIMIT ${BATCH}`;

/** Memories that were stored by a run after its agent was deleted. */
export const DELETE_ORPHANED_MEMORIES = `DELETE FROM agent_memories m USING agents a WHERE a.id = m.agent_id AND a.deleted_at IS NOT NULL`;

export const FORGET_AGENTS = `DELETE FROM agents WHERE deleted_at < now() - $1 * interval '1 day'`;

export const FORGET_KNOWLEDGE = 'DELETE FROM knowledge_files WHERE id = ANY ($1)';
