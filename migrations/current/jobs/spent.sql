-- The cost of attempts that did not end their job: the worker stopped, lost the job, or found it cancelled. It is part
-- of the cost of the job's operation (beyond 13.2).

-- Adds an attempt's cost to the job, once for each attempt; if the job has ended, to its ended operation.
-- `p_outcome`: see penstock_ending.
CREATE OR REPLACE FUNCTION penstock_job_spent(p_id text, p_fence int, p_outcome jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q WHERE q.id = p_id FOR UPDATE;
  IF NOT FOUND OR j.spent -> 'fences' @> to_jsonb(p_fence) THEN
    RETURN false;
  END IF;
  UPDATE jobs q SET spent = penstock_outcome_sum(p_outcome, j.spent)
      || jsonb_build_object('fences', COALESCE(j.spent -> 'fences', '[]') || to_jsonb(p_fence))
    WHERE q.id = p_id;
  IF j.completed_at IS NOT NULL THEN
    PERFORM penstock_ledger_late_cost(j.operation_id, p_outcome);
  END IF;
  RETURN true;
END $$;
