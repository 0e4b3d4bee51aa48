-- Sliding-window logs. `stamps` has one time (microseconds, ascending, 0 for never) for each group of `grain` slots:
-- the time when the last slot of the group was taken. `fill` is the number of taken slots in the newest group. Up to
-- 600 slots the grain is 1 and the log is exact. Larger windows have about 200 groups, so a slot can become free up to
-- 1/200 of the limit late, but never early. UNLOGGED: a crash of PostgreSQL loses at most one window. `stamps` is
-- stored inline and uncompressed, because every batch reads and writes the whole row.
CREATE UNLOGGED TABLE rate_windows (
  key_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  grain int NOT NULL,
  fill int NOT NULL DEFAULT 0,
  stamps bigint[] NOT NULL,
  PRIMARY KEY (key_id, name)
) WITH (fillfactor = 25, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE rate_windows ALTER COLUMN stamps SET STORAGE MAIN;

GRANT SELECT, INSERT, UPDATE, DELETE ON rate_windows TO penstock_system;
