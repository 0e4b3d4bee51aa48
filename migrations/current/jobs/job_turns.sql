-- When a job of each organisation was last taken, by tool. penstock_jobs_choose takes the least recently served first.
CREATE TABLE job_turns (
  tool text NOT NULL,
  org_id text NOT NULL,
  served bigint NOT NULL,
  PRIMARY KEY (tool, org_id)
) WITH (fillfactor = 70);

ALTER TABLE job_turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_turns FORCE ROW LEVEL SECURITY;
CREATE POLICY job_turns_system ON job_turns TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON job_turns TO penstock_system;

CREATE SEQUENCE job_turn;
GRANT USAGE ON SEQUENCE job_turn TO penstock_system;
