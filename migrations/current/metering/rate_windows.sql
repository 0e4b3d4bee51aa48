-- The sliding logs. `stamps` holds one time (microseconds, ascending, 0 for never) for each `grain` slots of the
-- window: when the last of them was taken; `fill` counts those taken of the newest. Up to 600 slots the grain is 1 and
-- the log is exact; larger windows have about 200 stamps, and a slot may come free up to 1/200 of the limit late, never
-- early. Not logged: a crash of PostgreSQL forgets at most one window. Stored in line and uncompressed, because a row
-- is read and written whole by every batch.
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
