-- The ends of operations (penstock_settle_many, penstock_settle_batch). src/metering/settlement-rows.ts has the source
-- of each column's value; a test compares names, types and order.

-- `amounts`: hundredths by bucket; null: the reservation is released. `fallback`: the content of the operation's ledger
-- row, needed if the row was lost with the database (penstock_ledger_restore). The others are columns of the ledger.
-- Without a status, a charged operation has succeeded and any other was cancelled.
CREATE TYPE settlement_ending AS (
  operation_id text, amounts bigint[], fallback jsonb, status text, error_code text, answered_model text, provider text,
  upstream_id text, first_token_ms int, tokens bigint[], cost_nano bigint, cost_version text
);

-- A webhook event that is written if its settlement is applied. `at` is the number of the ending in the batch, from 1.
-- `unheard`: the process publishes only to webhooks, so the row is needed only if the organisation has a webhook
-- (enabled or not: `recover` sends the events that a disabled webhook missed), or if another process may publish it to
-- Kafka. Every chat call has such an event; a row costs two writes, a wake-up and a claim.
CREATE TYPE settlement_event AS (at int, org text, type text, data jsonb, unheard boolean, trace text);

-- An ending of work that SQL ends. `p_outcome`: an OperationOutcome of src/metering/metering.types.ts as JSON, its cost
-- as decimal text. Null: the outcome is unknown, and a released operation cost nothing.
CREATE OR REPLACE FUNCTION penstock_ending(p_op text, p_amounts bigint[], p_outcome jsonb DEFAULT NULL, p_fallback jsonb DEFAULT NULL)
RETURNS settlement_ending LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(p_op, p_amounts, p_fallback, p_outcome ->> 'status', p_outcome ->> 'errorCode', p_outcome ->> 'answeredModel',
    p_outcome ->> 'provider', p_outcome ->> 'upstreamId', round((p_outcome ->> 'firstTokenMs')::numeric),
    CASE jsonb_typeof(p_outcome -> 'tokens') WHEN 'object' THEN ARRAY[(t ->> 'input')::bigint, (t ->> 'cachedInput')::bigint,
      (t ->> 'cacheWrite')::bigint, (t ->> 'output')::bigint, (t ->> 'reasoning')::bigint] END,
    CASE WHEN p_amounts IS NULL AND p_outcome ->> 'status' IS NULL THEN 0 ELSE (p_outcome ->> 'costNano')::bigint END,
    p_outcome ->> 'costVersion')::settlement_ending
  FROM (SELECT p_outcome -> 'tokens' AS t) o
$$;

-- An outcome plus the cost of earlier attempts (null: there were none), unless both report the same answers.
CREATE OR REPLACE FUNCTION penstock_outcome_sum(p_outcome jsonb, p_earlier jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_earlier IS NULL
      OR COALESCE(string_to_array(p_earlier ->> 'upstreamId', ' ') <@ string_to_array(p_outcome ->> 'upstreamId', ' '), false)
    THEN p_outcome
    ELSE p_outcome || jsonb_build_object(
      'costNano', ((p_outcome ->> 'costNano')::numeric + (p_earlier ->> 'costNano')::numeric)::text,
      'costVersion', COALESCE(p_outcome ->> 'costVersion', p_earlier ->> 'costVersion'),
      'upstreamId', NULLIF(concat_ws(' ', p_earlier ->> 'upstreamId', p_outcome ->> 'upstreamId'), ''),
      'tokens', CASE WHEN jsonb_typeof(p_outcome -> 'tokens') = 'object' OR jsonb_typeof(p_earlier -> 'tokens') = 'object' THEN (
        SELECT jsonb_object_agg(k, COALESCE((p_outcome #>> ARRAY['tokens', k])::bigint, 0) + COALESCE((p_earlier #>> ARRAY['tokens', k])::bigint, 0))
        FROM unnest(ARRAY['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning']) k) END)
    END
$$;
