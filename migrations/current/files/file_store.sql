-- The installation that the file store (disk folder or bucket) is bound to (decisions 9).
CREATE TABLE file_store (
  installation_id text PRIMARY KEY,
  bound_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT ON file_store TO penstock_system;
