-- Ends many reservations at once: each is settled to its real amounts, or released. Ledger rows are locked first, in
-- the order of their ids, then balances in the order of organisation and period, each written once.
--
-- A charge above the reservation is limited to the units that the bucket has left (in a superseded period: only of its
-- allowance, because its unspent top-ups belong to the next period); credits are whole; chat_tokens are at most the
-- charged credits' tokens. The data of a row that was lost with the database is in its fallback: {org, key, user, kind,
-- model, request, job, run, serviceClient, clientName, userAgent, endUser, tags, parent, version, allowance}.
--
-- Returns {"items": [[state, balance, charged], …], "balances": […]}: an item for each operation, in order; state 2 is
-- unknown, 1 applied, 0 ended before; balance is an index from 0.
CREATE OR REPLACE FUNCTION penstock_settle_many(p_endings settlement_ending[], p_swept boolean DEFAULT false)
RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  zeros CONSTANT bigint[] := penstock_zeros();
  width CONSTANT int := cardinality(zeros);
  r record;
  b balances;
  opened boolean := false;
  fires boolean;
  now_used bigint[];
  now_reserved bigint[];
  items text[] := array_fill('[2,-1]'::text, ARRAY[cardinality(p_endings)]);
  shown text[] := '{}';
  charged bigint[];
  charged_text text;
  last_op text;
  -- For the current balance: the last number before, and the number of applied ends.
  number bigint;
  ends int;
  -- The operations that end now, in the order of `p_endings`.
  ended_number bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_endings)]);
  ended_charged text[] := array_fill(NULL::text, ARRAY[cardinality(p_endings)]);
  -- The ones of them that budgets count.
  counted budget_ending[] := '{}';
  want bigint;
  had bigint;
  room bigint;
BEGIN
  IF cardinality(p_endings) > 1 THEN
    PERFORM 1 FROM usage_ledger l WHERE l.operation_id = ANY (ARRAY(SELECT e.operation_id FROM unnest(p_endings) e))
      ORDER BY l.operation_id COLLATE "C" FOR UPDATE;
  END IF;
  PERFORM penstock_ledger_restore(e.operation_id, e.fallback) FROM unnest(p_endings) e WHERE e.fallback IS NOT NULL
    ORDER BY e.operation_id COLLATE "C";
  FOR r IN
    SELECT e.*, e.operation_id AS op, e.ordinality::int AS i, l.org_id, l.period_start, l.state, l.swept, l.reserved, l.counters, l.reserved_nano,
      0 = ALL (l.reserved[3:]) AND COALESCE(0 = ALL (e.amounts[3:]), true) AS only_tokens
    FROM unnest(p_endings) WITH ORDINALITY e JOIN usage_ledger l ON l.operation_id = e.operation_id
    ORDER BY l.org_id COLLATE "C", l.period_start, e.operation_id, e.ordinality FOR UPDATE OF l
  LOOP
    IF NOT opened OR b.org_id <> r.org_id OR b.period_start <> r.period_start THEN
      IF opened THEN
        shown := shown || penstock_balance_close(b, now_used, now_reserved, fires, ends);
      END IF;
      SELECT * INTO STRICT b FROM balances c WHERE c.org_id = r.org_id AND c.period_start = r.period_start FOR UPDATE;
      number := CASE WHEN b.superseded THEN penstock_numbers_after(b.org_id, b.period_start) ELSE b.sequence END;
      ends := 0;
      opened := true;
      fires := b.superseded;
      now_used := b.used;
      now_reserved := b.reserved;
    END IF;
    IF r.op = last_op THEN
      items[r.i] := '[0,' || cardinality(shown) || ',' || charged_text || ']';
      CONTINUE;
    END IF;
    IF r.state = 'settled' OR r.state = 'released' AND (r.amounts IS NULL OR NOT r.swept) THEN
      items[r.i] := '[0,' || cardinality(shown) || ',' || array_to_json(COALESCE(
        (SELECT penstock_ledger_charge(l) FROM usage_ledger l WHERE l.operation_id = r.op), zeros)) || ']';
      CONTINUE;
    END IF;
    charged := zeros;
    FOR k IN 1 .. CASE WHEN r.only_tokens THEN 2 ELSE width END LOOP
      had := CASE WHEN r.state = 'reserved' THEN r.reserved[k] ELSE 0 END;
      want := COALESCE(r.amounts[k], 0);
      CONTINUE WHEN want = 0 AND had = 0;
      IF k = 2 THEN
        want := least(want, charged[1] * 1000);
      ELSIF want > had AND b.allowance[k] <> -1 THEN
        room := b.allowance[k] - now_used[k] - now_reserved[k];
        IF NOT b.superseded THEN
          room := room + b.topup_start[k] + b.topup_added[k];
        END IF;
        room := least(want - had, greatest(room, 0));
        want := had + CASE WHEN k = 1 THEN room / 100 * 100 ELSE room END;
      END IF;
      charged[k] := want;
      now_used[k] := now_used[k] + want;
      now_reserved[k] := now_reserved[k] - had;
      IF NOT fires AND k <> 2 AND b.allowance[k] <> -1 THEN
        room := b.allowance[k] + b.topup_start[k] + b.topup_added[k];
        fires := (room - now_used[k]) * 10 < room AND NOT b.depleted_fired[k];
      END IF;
    END LOOP;
    charged_text := array_to_json(charged);
    items[r.i] := '[1,' || cardinality(shown) || ',' || charged_text || ']';
    last_op := r.op;
    ends := ends + 1;
    IF r.counters IS NOT NULL THEN
      counted := counted || ROW(r.counters, CASE WHEN r.state = 'reserved' THEN r.reserved END,
        CASE WHEN r.state = 'reserved' THEN r.reserved_nano END, charged, r.cost_nano)::budget_ending;
    END IF;
    IF r.state = 'reserved' THEN
      ended_number[r.i] := number + ends;
      ended_charged[r.i] := CASE WHEN r.amounts IS NOT NULL THEN charged::text END;
    ELSE
      PERFORM penstock_ledger_correct(p_endings[r.i], 'settled', charged, number + ends);
    END IF;
  END LOOP;
  IF opened THEN
    shown := shown || penstock_balance_close(b, now_used, now_reserved, fires, ends);
  END IF;
  UPDATE usage_ledger l SET state = CASE WHEN e.charged IS NULL THEN 'released' ELSE 'settled' END, charged = e.charged::bigint[],
      swept = p_swept, settled_at = clock_timestamp(), sequence = e.number,
      latency_ms = CASE WHEN l.restored IS NOT TRUE THEN penstock_ms_since(l.created_at) END,
      status = COALESCE(e.status, CASE WHEN e.charged IS NULL THEN 'cancelled' ELSE 'succeeded' END), error_code = e.error_code,
      answered_model = e.answered_model, provider = e.provider, upstream_id = e.upstream_id, first_token_ms = e.first_token_ms,
      tokens = e.tokens, cost_nano = e.cost_nano, cost_version = e.cost_version
    FROM ROWS FROM (unnest(p_endings), unnest(ended_number), unnest(ended_charged)) e (operation_id, amounts, fallback, status, error_code,
      answered_model, provider, upstream_id, first_token_ms, tokens, cost_nano, cost_version, number, charged)
    WHERE l.operation_id = e.operation_id AND e.number IS NOT NULL;
  IF cardinality(counted) > 0 THEN
    PERFORM penstock_budget_settle(counted);
  END IF;
  RETURN '{"items":[' || array_to_string(items, ',') || '],"balances":[' || array_to_string(shown, ',') || ']}';
END $$;

-- One settlement inside another transaction: {applied, charged (hundredths by bucket), balances: {limits, used,
-- reserved}}; balances is absent if the operation is unknown and there is no fallback.
-- `p_outcome`: see penstock_ending.
CREATE OR REPLACE FUNCTION penstock_settle(
  p_operation_id text, p_amounts bigint[], p_outcome jsonb DEFAULT NULL, p_fallback jsonb DEFAULT NULL
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := penstock_settle_many(ARRAY[penstock_ending(p_operation_id, p_amounts, p_outcome, p_fallback)]);
BEGIN
  RETURN jsonb_strip_nulls(jsonb_build_object(
    'applied', answer #> '{items,0,0}' = '1',
    'charged', COALESCE(answer #> '{items,0,2}', to_jsonb(penstock_zeros())),
    'balances', answer #> '{balances,0}'));
END $$;

-- Releases one reservation inside another transaction; false if it had ended before.
CREATE OR REPLACE FUNCTION penstock_release(p_operation_id text, p_outcome jsonb DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN penstock_settle_many(ARRAY[penstock_ending(p_operation_id, NULL, p_outcome)])::jsonb #> '{items,0,0}' = '1';
END $$;

-- Transfers the reservation to a job (or a run), so that no process holds it. False if it had ended before.
CREATE OR REPLACE FUNCTION penstock_attach(p_operation_id text, p_job_id text, p_run_id text DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE usage_ledger l SET holder = NULL, job_id = COALESCE(p_job_id, l.job_id), run_id = COALESCE(p_run_id, l.run_id)
    WHERE l.operation_id = p_operation_id AND l.state = 'reserved';
  RETURN FOUND;
END $$;

-- Aborts a statement that finds during its work that it must not continue; all its changes are undone.
CREATE OR REPLACE FUNCTION penstock_refuse() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION SQLSTATE 'PM001';
END $$;
