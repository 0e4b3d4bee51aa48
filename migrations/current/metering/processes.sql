-- Every process that may hold reservations, with its lease. If the lease expires, penstock_sweep releases the
-- reservations.
CREATE TABLE processes (
  id text COLLATE "C" PRIMARY KEY,
  role text NOT NULL,
  lease_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON processes TO penstock_system;
