import { Migration } from '@mikro-orm/migrations';

/**
 * A worker's write at a boundary of a step, as before, but on the disk when it answers: what a subscriber saw and what was charged
 * survives a power cut (decisions 2). Writes of many runs share that wait.
 */
const ADVANCE_ONE = `
CREATE OR REPLACE FUNCTION penstock_run_advance(p_worker text, p_id text, p_fence int, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- Tried again after its answer was lost: done already.
  IF (r.state ->> 'writes')::int >= (p -> 'state' ->> 'writes')::int THEN
    RETURN true;
  END IF;
  PERFORM penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  UPDATE agent_runs q SET state = p -> 'state' WHERE q.id = p_id;
  RETURN true;
END $$`;

/** All runs first, in the order in which leases are renewed, then balances: so that a cancellation in between waits and never locks crosswise. */
const LOCK_RUNS = `PERFORM 1 FROM agent_runs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p) i)
    ORDER BY q.id FOR UPDATE;`;

/** Steps of many runs in one transaction: [{id, fence, work}] in the order of their organisations, so that no two lock balances crosswise. */
const ADVANCE = `
CREATE OR REPLACE FUNCTION penstock_runs_advance(p_worker text, p jsonb) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  ${LOCK_RUNS}
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_advance(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $$`;

/** Ends of many runs: one transaction, one wait for the disk. */
const END = `
CREATE OR REPLACE FUNCTION penstock_runs_end(p_worker text, p jsonb) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  ${LOCK_RUNS}
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_end(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $$`;

/** The run whose attachment or tool's work a file is, so that it is removed with that run; steps of many runs in one write. */
export class Migration0014 extends Migration {
  override up(): void {
    this.addSql(`
      ALTER TABLE files ADD COLUMN run_id text;
      CREATE INDEX files_run_id ON files (run_id) WHERE run_id IS NOT NULL;
      CREATE INDEX agent_memories_agent ON agent_memories (agent_id);
      CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL;`);
    for (const sql of [ADVANCE_ONE, ADVANCE, END]) this.addSql(sql);
  }
}
