-- Deletes the history of deleted jobs, with one statement for all of them (see job_events.sql).
CREATE OR REPLACE FUNCTION penstock_job_events_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM job_events e USING gone g WHERE e.job_id = g.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER jobs_forget_events AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
  EXECUTE FUNCTION penstock_job_events_forget();
