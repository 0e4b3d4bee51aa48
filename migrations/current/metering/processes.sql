-- Every process that may hold reservations, with a lease: what a lost one held is given back (penstock_sweep).
CREATE TABLE processes (
  id text COLLATE "C" PRIMARY KEY,
  role text NOT NULL,
  lease_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON processes TO penstock_system;
