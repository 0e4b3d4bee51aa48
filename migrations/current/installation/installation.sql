-- The single row that describes this installation. `signing_secret` signs URLs if the operator has set no secret.
CREATE TABLE installation (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  id text NOT NULL,
  signing_secret text,
  -- True after the first process with Kafka has started, and never false again. Processes without Kafka then write
  -- every event, for the processes with Kafka.
  kafka boolean NOT NULL DEFAULT false,
  -- The codes of the plans that include webhooks, from PLANS_FILE; null until the first process has started.
  webhook_plans text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  -- PUBLIC_URL of the servers, so that the command line can print links without the servers' environment.
  public_url text,
  -- Operations with smaller ids were dropped from the ledger together with their months (penstock_ledger_drop).
  ledger_dropped_before text COLLATE "C"
);

GRANT SELECT, UPDATE ON installation TO penstock_system;
INSERT INTO installation (id) VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''));
