import { Migration } from '@mikro-orm/migrations';
import { tenancySql } from './tenancy.js';

const TABLE = `
CREATE TABLE idempotency_keys (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  state text NOT NULL DEFAULT 'in_flight' CHECK (state IN ('in_flight', 'done')),
  process_id text,
  job_ids text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL DEFAULT '{}',
  status integer,
  headers jsonb,
  body bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);`;

/**
 * One statement decides what a request with a key may do. An in-flight row belongs to its process as long as that process's lease
 * runs; afterwards the next request with the same fingerprint takes it over, with the jobs that were bound to it.
 */
const BEGIN = `
CREATE OR REPLACE FUNCTION penstock_idempotency_begin(
  p_id text, p_org text, p_key text, p_fingerprint bytea, p_process text
) RETURNS TABLE (outcome text, row_id text, owner text, jobs text[], granted text[], answer_status integer, answer_headers jsonb, answer_body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  r idempotency_keys%ROWTYPE;
BEGIN
  LOOP
    INSERT INTO idempotency_keys (id, org_id, key, fingerprint, process_id)
      VALUES (p_id, p_org, p_key, p_fingerprint, p_process)
      ON CONFLICT (org_id, key) DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT 'run', p_id, p_process, '{}'::text[], '{}'::text[], NULL::integer, NULL::jsonb, NULL::bytea;
      RETURN;
    END IF;
    SELECT * INTO r FROM idempotency_keys k WHERE k.org_id = p_org AND k.key = p_key FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    IF r.created_at < now() - interval '24 hours' THEN
      DELETE FROM idempotency_keys k WHERE k.id = r.id;
      CONTINUE;
    END IF;
    EXIT;
  END LOOP;
  IF r.fingerprint <> p_fingerprint THEN
    RETURN QUERY SELECT 'mismatch', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSIF r.state = 'done' THEN
    RETURN QUERY SELECT 'done', r.id, r.process_id, r.job_ids, r.scopes, r.status, r.headers, r.body;
  ELSIF EXISTS (SELECT 1 FROM processes p WHERE p.id = r.process_id AND p.lease_until > clock_timestamp()) THEN
    RETURN QUERY SELECT 'in_flight', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSE
    UPDATE idempotency_keys k SET process_id = p_process WHERE k.id = r.id;
    RETURN QUERY SELECT 'run', r.id, p_process, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  END IF;
END
$$;`;

/** Called in the transaction that makes a job: from its commit on, a retry finds the job whoever dies. */
const BIND = `
CREATE OR REPLACE FUNCTION penstock_idempotency_bind(p_row text, p_job text) RETURNS void
LANGUAGE sql AS $$
  UPDATE idempotency_keys SET job_ids = job_ids || p_job WHERE id = p_row AND NOT p_job = ANY (job_ids)
$$;`;

/** Idempotency keys (decisions 6, "Beyond the contract"): one row a key and organisation, purged after 24 h. */
export class Migration0006 extends Migration {
  override up(): void {
    this.addSql(TABLE);
    this.addSql(tenancySql('idempotency_keys', { system: true }));
    this.addSql(BEGIN);
    this.addSql(BIND);
  }
}
