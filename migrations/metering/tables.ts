/**
 * Ids compare by their bytes (collation "C"), whatever the database's locale: the order in which rows are locked, and cheap.
 *
 * Arrays hold one element for each bucket, in the order of BUCKETS, in hundredths of its unit; an allowance of -1 is unlimited.
 *
 * balances: one row for each organisation and period. Exactly one row of an organisation is not superseded: the newest. A period's
 * limit is allowance + topup_start (units unspent when it began) + topup_added. `chat_tokens` has no limit of its own: the view of
 * credits × 1000 is computed where it is shown. The low fill factor keeps the updates of a hot row on its page.
 *
 * usage_ledger: one row for each operation, so that reserve, settle and release each happen once. `used` of a period is the sum of
 * `charged` of its settled rows. `holder` is the process that must settle or release; null once a job or a run owns the reservation.
 * `swept`: released because its holder was lost, so that a holder who was only slow is still charged for what it delivered.
 */
export const METERING_TABLES = `
CREATE TABLE balances (
  org_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  anchor_at timestamptz NOT NULL,
  org_version bigint NOT NULL,
  superseded boolean NOT NULL DEFAULT false,
  allowance bigint[] NOT NULL,
  topup_start bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0}',
  topup_added bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0}',
  used bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0}',
  reserved bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0}',
  low_fired boolean[] NOT NULL DEFAULT '{f,f,f,f,f,f,f,f,f}',
  depleted_fired boolean[] NOT NULL DEFAULT '{f,f,f,f,f,f,f,f,f}',
  PRIMARY KEY (org_id, period_start)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX balances_current ON balances (org_id) WHERE NOT superseded;

CREATE TABLE usage_ledger (
  operation_id text COLLATE "C" PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL,
  key_id text,
  user_id text,
  kind text NOT NULL,
  state text NOT NULL CHECK (state IN ('reserved', 'settled', 'released')),
  swept boolean NOT NULL DEFAULT false,
  period_start timestamptz NOT NULL,
  reserved bigint[] NOT NULL,
  charged bigint[],
  model text,
  request_id text,
  job_id text,
  run_id text,
  holder text COLLATE "C",
  service_client text,
  client_name text,
  user_agent text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, created_at);
CREATE INDEX usage_ledger_held ON usage_ledger (holder) WHERE state = 'reserved' AND holder IS NOT NULL;

CREATE TABLE processes (
  id text COLLATE "C" PRIMARY KEY,
  role text NOT NULL,
  lease_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
`;

/**
 * The sliding logs. `stamps` holds one time (microseconds, ascending, 0 for never) for each `grain` slots of the window: when the last
 * of them was taken; `fill` counts those taken of the newest. Up to 600 slots the grain is 1 and the log is exact; larger windows have
 * about 200 stamps, and a slot may come free up to 1/200 of the limit late, never early. Not logged: a crash of PostgreSQL forgets at
 * most one window. Stored in line and uncompressed, because a row is read and written whole by every batch.
 */
export const WINDOW_TABLE = `
CREATE UNLOGGED TABLE rate_windows (
  key_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  grain int NOT NULL,
  fill int NOT NULL DEFAULT 0,
  stamps bigint[] NOT NULL,
  PRIMARY KEY (key_id, name)
) WITH (fillfactor = 25, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE rate_windows ALTER COLUMN stamps SET STORAGE MAIN;
`;
