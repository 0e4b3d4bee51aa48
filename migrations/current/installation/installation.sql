-- The one row that names this installation. `signing_secret` is what URLs are signed with where the operator set none.
CREATE TABLE installation (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  id text NOT NULL,
  signing_secret text,
  -- True once a process with Kafka has started here, for good: who runs without it then still writes every event for those with it.
  kafka boolean NOT NULL DEFAULT false,
  -- Codes of the plans that have webhooks, as the processes' PLANS_FILE says; null until the first process has started.
  webhook_plans text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The address that callers are told, so that the command line can print links without the servers' environment.
  public_url text
);

GRANT SELECT, UPDATE ON installation TO penstock_system;
INSERT INTO installation (id) VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''));
