-- How operations end (penstock_settle_many, penstock_settle_batch). src/metering/settlement-rows.ts says for each column
-- where its value comes from; a test compares names, types and order.

-- `amounts`: hundredths by bucket; null: the reservation is released. `fallback`: what the operation's ledger row said,
-- for a row that was lost with the database that held it (penstock_ledger_restore). The others are columns of the ledger;
-- without a status an operation succeeded where it is charged, and else was cancelled.
CREATE TYPE settlement_ending AS (
  operation_id text, amounts bigint[], fallback jsonb, status text, error_code text, answered_model text, provider text,
  upstream_id text, first_token_ms int, tokens bigint[], cost_nano bigint, cost_version text
);

-- A webhook event that is written where its settlement is applied: that of the batch's ending `at`, from 1.
-- `unheard`: the process publishes to nobody but webhooks, so that the row is needed only where the organisation has any
-- (enabled or not: `recover` sends what a disabled one missed), or where another process may carry it to Kafka. Every
-- chat call has such an event; a row costs two writes, a wake-up and a claim.
CREATE TYPE settlement_event AS (at int, org text, type text, data jsonb, unheard boolean, trace text);

-- An ending of work that SQL ends. `p_outcome`: an OperationOutcome of src/metering/metering.types.ts as JSON, its cost as
-- decimal text. Null: nothing is known of it, and what is released cost nothing.
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
