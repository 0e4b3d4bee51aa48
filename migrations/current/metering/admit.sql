-- Admission of a batch of requests, in order (decisions 1 and 4). For each: is the key valid and the caller's copy of
-- the organisation current; are both windows free, then both slots are taken; does the whole price fit, then it is
-- reserved with its ledger row. Each row is written once for the whole batch.
--
-- Nearly always everything fits, and then no request needs to be looked at by itself: sums are checked and written.
-- Where anything does not, what was written is undone and penstock_admit_each goes through the requests.
--
-- Answers {"w": [[slots left, gains a slot at, now], …]} by window where all were admitted, else what
-- penstock_admit_each answers.
CREATE OR REPLACE FUNCTION penstock_admit(p_holder text, p_ct text[], p_cn bigint[], p_wt text[], p_wn bigint[], p_ot text[], p_on bigint[], p_ft text[], p_fn bigint[], p_rt text[], p_rn bigint[]) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  answer text := '';
  org_period timestamptz[] := '{}';
  began timestamptz;
  r record;
BEGIN
  -- An assignment, because PERFORM would be a statement of its own.
  answer := left(set_config('synchronous_commit', 'off', true), 0);
  BEGIN
    FOR i IN 1 .. cardinality(p_ct) / 2 LOOP
      IF NOT EXISTS (SELECT 1 FROM api_keys q JOIN organizations g ON g.id = q.org_id
          WHERE q.id = p_ct[(i) * 2 - 1] AND q.revoked_at IS NULL AND (q.expires_at IS NULL OR q.expires_at > clock_timestamp()) AND g.version = p_cn[(i) * 2 - 1] AND (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) = (p_cn[(i) * 2 - 0] = 1)) THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(p_wt) / 2 LOOP
      r := penstock_window_take(p_wt[(i) * 2 - 1], p_wt[(i) * 2 - 0], p_wn[(i) * 5 - 3]::int, p_wn[(i) * 5 - 2]::int, p_wn[(i) * 5 - 1], p_wn[(i) * 5 - 0]::int);
      IF r.slots IS NULL THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      answer := answer || CASE WHEN i = 1 THEN '[' ELSE ',[' END || r.slots || ',' || r.gains_at || ',' || r.now_us || ']';
    END LOOP;
    FOR i IN 1 .. cardinality(p_ot) / 2 LOOP
      IF p_on[i * 10 - 6:i * 10] = '{0,0,0,0,0,0,0}' THEN
        UPDATE balances b SET reserved[1] = b.reserved[1] + p_on[(i) * 10 - 8], reserved[2] = b.reserved[2] + p_on[(i) * 10 - 7]
        WHERE b.org_id = p_ot[(i) * 2 - 1] AND NOT b.superseded AND b.period_end > clock_timestamp()
          AND b.org_version <= p_on[(i) * 10 - 9] AND b.allowance = p_ot[(i) * 2 - 0]::bigint[]
          AND (b.allowance[1] = -1 OR
          b.allowance[1] + b.topup_start[1] + b.topup_added[1] - b.used[1] - b.reserved[1] >= p_on[(i) * 10 - 8])
        RETURNING b.period_start INTO began;
      ELSE
        UPDATE balances b SET reserved = ARRAY[b.reserved[1] + p_on[(i) * 10 - 8], b.reserved[2] + p_on[(i) * 10 - 7], b.reserved[3] + p_on[(i) * 10 - 6], b.reserved[4] + p_on[(i) * 10 - 5], b.reserved[5] + p_on[(i) * 10 - 4], b.reserved[6] + p_on[(i) * 10 - 3], b.reserved[7] + p_on[(i) * 10 - 2], b.reserved[8] + p_on[(i) * 10 - 1], b.reserved[9] + p_on[(i) * 10 - 0]]
        WHERE b.org_id = p_ot[(i) * 2 - 1] AND NOT b.superseded AND b.period_end > clock_timestamp()
          AND b.org_version <= p_on[(i) * 10 - 9] AND b.allowance = p_ot[(i) * 2 - 0]::bigint[]
          AND (p_on[(i) * 10 - 8] = 0 OR (b.allowance[1] = -1 OR
          b.allowance[1] + b.topup_start[1] + b.topup_added[1] - b.used[1] - b.reserved[1] >= p_on[(i) * 10 - 8]))
          AND (p_on[(i) * 10 - 6] = 0 OR (b.allowance[3] = -1 OR
          b.allowance[3] + b.topup_start[3] + b.topup_added[3] - b.used[3] - b.reserved[3] >= p_on[(i) * 10 - 6]))
          AND (p_on[(i) * 10 - 5] = 0 OR (b.allowance[4] = -1 OR
          b.allowance[4] + b.topup_start[4] + b.topup_added[4] - b.used[4] - b.reserved[4] >= p_on[(i) * 10 - 5]))
          AND (p_on[(i) * 10 - 4] = 0 OR (b.allowance[5] = -1 OR
          b.allowance[5] + b.topup_start[5] + b.topup_added[5] - b.used[5] - b.reserved[5] >= p_on[(i) * 10 - 4]))
          AND (p_on[(i) * 10 - 3] = 0 OR (b.allowance[6] = -1 OR
          b.allowance[6] + b.topup_start[6] + b.topup_added[6] - b.used[6] - b.reserved[6] >= p_on[(i) * 10 - 3]))
          AND (p_on[(i) * 10 - 2] = 0 OR (b.allowance[7] = -1 OR
          b.allowance[7] + b.topup_start[7] + b.topup_added[7] - b.used[7] - b.reserved[7] >= p_on[(i) * 10 - 2]))
          AND (p_on[(i) * 10 - 1] = 0 OR (b.allowance[8] = -1 OR
          b.allowance[8] + b.topup_start[8] + b.topup_added[8] - b.used[8] - b.reserved[8] >= p_on[(i) * 10 - 1]))
          AND (p_on[(i) * 10 - 0] = 0 OR (b.allowance[9] = -1 OR
          b.allowance[9] + b.topup_start[9] + b.topup_added[9] - b.used[9] - b.reserved[9] >= p_on[(i) * 10 - 0]))
        RETURNING b.period_start INTO began;
      END IF;
      IF NOT FOUND THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      org_period[i] := began;
    END LOOP;
    IF cardinality(p_ot) / 2 > 0 THEN
      INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
        job_id, run_id, holder, service_client, client_name, user_agent)
      SELECT u.op, p_ot[(u.o) * 2 - 1], p_ct[(u.c) * 2 - 1], p_ct[(u.c) * 2 - 0], p_ft[(u.p) * 7 - 6], 'reserved', org_period[u.o],
        COALESCE(p_ft[(u.p) * 7 - 1]::bigint[], ARRAY[u.credits, u.tokens, 0, 0, 0, 0, 0, 0, 0]), p_ft[(u.p) * 7 - 5],
        p_rt[(u.i) * 4 - 2], p_rt[(u.i) * 4 - 1], p_rt[(u.i) * 4 - 0], p_holder,
        p_ft[(u.p) * 7 - 4], p_ft[(u.p) * 7 - 3], p_ft[(u.p) * 7 - 2]
      FROM (
        SELECT req.nth AS i, req.p, p_rt[(req.nth) * 4 - 3] AS op, p_rn[(req.nth) * 5 - 1] AS credits, p_rn[(req.nth) * 5 - 0] AS tokens, p_fn[(req.p) * 5 - 1]::int AS o,
          p_fn[(req.p) * 5 - 4]::int AS c
        FROM (SELECT nth, p_rn[(nth) * 5 - 4]::int AS p FROM generate_series(1, cardinality(p_rt) / 4) nth) req) u
      WHERE u.op IS NOT NULL;
    END IF;
  EXCEPTION WHEN SQLSTATE 'PM001' OR unique_violation THEN
    RETURN penstock_admit_each(p_holder, p_ct, p_cn, p_wt, p_wn, p_ot, p_on, p_ft, p_fn, p_rt, p_rn)::text;
  END;
  RETURN '{"w":[' || answer || ']}';
END $$;

-- Goes through the requests of a batch in order. Answers columns by request: c 0 admitted, 1 invalid key, 2 expired
-- key, 3 stale copy, 4 window full, 5 bucket exhausted, 6 the operation exists (its amounts stand in d); x, y slots
-- left of the two windows; g credits reserved; e tokens covered; b the exhausted bucket, m what is left of it; and by
-- window: t when it gains a slot, n the time then (microseconds).
CREATE OR REPLACE FUNCTION penstock_admit_each(p_holder text, p_ct text[], p_cn bigint[], p_wt text[], p_wn bigint[], p_ot text[], p_on bigint[], p_ft text[], p_fn bigint[], p_rt text[], p_rn bigint[]) RETURNS json LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  r record;
  b balances;
  size CONSTANT int := cardinality(p_rt) / 4;
  caller_state int[] := '{}';
  org_open boolean[] := array_fill(false, ARRAY[cardinality(p_ot) / 2]);
  org_period timestamptz[] := '{}';
  org_reserved bigint[] := '{}';
  avail bigint[] := '{}';
  w_slots int[] := '{}';
  w_taken int[] := array_fill(0, ARRAY[cardinality(p_wt) / 2]);
  w_gains bigint[] := '{}';
  w_now bigint[] := '{}';
  codes int[] := array_fill(0, ARRAY[size]);
  left_x int[] := codes;
  left_y int[] := codes;
  credits bigint[] := array_fill(0::bigint, ARRAY[size]);
  tokens bigint[] := credits;
  covered bigint[] := credits;
  short_bucket int[] := codes;
  short_left bigint[] := credits;
  known jsonb := '{}';
  operation text;
  seen text[] := '{}';
  f int;
  x int;
  y int;
  base int;
  need bigint;
  cover bigint;
  have bigint;
  fixed bigint[];
  bucket int;
BEGIN
  FOR i IN 1 .. cardinality(p_ct) / 2 LOOP
    SELECT CASE WHEN q.revoked_at IS NOT NULL THEN 1 WHEN NOT (q.revoked_at IS NULL AND (q.expires_at IS NULL OR q.expires_at > clock_timestamp())) THEN 2
        WHEN g.version <> p_cn[(i) * 2 - 1] OR (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) <> (p_cn[(i) * 2 - 0] = 1)
          AND NOT COALESCE(abs(date_part('epoch', g.subscription_ends_at - clock_timestamp())) < 5, false) THEN 3
        ELSE 0 END
      INTO x FROM api_keys q JOIN organizations g ON g.id = q.org_id WHERE q.id = p_ct[(i) * 2 - 1];
    caller_state := caller_state || COALESCE(x, 1);
  END LOOP;
  FOR i IN 1 .. cardinality(p_ft) / 7 LOOP
    IF p_fn[(i) * 5 - 1] > 0 AND caller_state[p_fn[(i) * 5 - 4]] = 0 THEN
      org_open[p_fn[(i) * 5 - 1]] := true;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_wt) / 2 LOOP
    IF caller_state[p_wn[(i) * 5 - 4]] = 0 THEN
      r := penstock_window_open(p_wt[(i) * 2 - 1], p_wt[(i) * 2 - 0], p_wn[(i) * 5 - 3]::int, p_wn[(i) * 5 - 2]::int, p_wn[(i) * 5 - 1]);
      w_slots[i] := r.slots;
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_ot) / 2 LOOP
    IF org_open[i] THEN
      b := penstock_balance_open(p_ot[(i) * 2 - 1], p_on[(i) * 10 - 9], p_ot[(i) * 2 - 0]::bigint[]);
      org_open[i] := b.org_version <= p_on[(i) * 10 - 9];
      org_period[i] := b.period_start;
      avail := avail || penstock_available(b);
      org_reserved := org_reserved || b.reserved;
    ELSE
      avail := avail || array_fill(0::bigint, ARRAY[9]);
      org_reserved := org_reserved || array_fill(0::bigint, ARRAY[9]);
    END IF;
  END LOOP;

  FOR i IN 1 .. size LOOP
    f := p_rn[(i) * 5 - 4];
    codes[i] := caller_state[p_fn[(f) * 5 - 4]];
    operation := p_rt[(i) * 4 - 3];
    IF codes[i] = 0 AND operation IS NOT NULL THEN
      IF NOT org_open[p_fn[(f) * 5 - 1]] THEN
        codes[i] := 3;
      ELSE
        SELECT jsonb_build_object(i - 1, l.reserved) AS entry INTO r FROM usage_ledger l WHERE l.operation_id = operation;
        IF FOUND THEN
          known := known || r.entry;
          codes[i] := 6;
        ELSIF operation = ANY (seen) THEN
          codes[i] := 3;
        ELSE
          seen := seen || operation;
        END IF;
      END IF;
    END IF;
    CONTINUE WHEN codes[i] IN (1, 2, 3);
    x := p_fn[(f) * 5 - 3];
    y := p_fn[(f) * 5 - 2];
    IF x > 0 AND w_slots[x] <= 0 OR y > 0 AND w_slots[y] <= 0 THEN
      codes[i] := 4;
      left_x[i] := w_slots[x];
      left_y[i] := w_slots[y];
      CONTINUE;
    END IF;
    IF x > 0 THEN
      w_slots[x] := w_slots[x] - 1;
      w_taken[x] := w_taken[x] + 1;
      left_x[i] := w_slots[x];
    END IF;
    IF y > 0 THEN
      w_slots[y] := w_slots[y] - 1;
      w_taken[y] := w_taken[y] + 1;
      left_y[i] := w_slots[y];
    END IF;
    CONTINUE WHEN codes[i] = 6 OR operation IS NULL;
    base := (p_fn[(f) * 5 - 1] - 1) * 9;
    IF p_fn[(f) * 5 - 0] > 0 THEN
      need := p_rn[(i) * 5 - 1];
      cover := p_rn[(i) * 5 - 3] + p_rn[(i) * 5 - 2];
      have := avail[base + 1];
      IF need > have THEN
        need := have / 100 * 100;
        cover := need * 1000 / p_fn[(f) * 5 - 0];
        IF need < 100 OR cover < p_rn[(i) * 5 - 3] + 1 THEN
          codes[i] := 5;
          short_bucket[i] := 2;
          short_left[i] := greatest(0, least(avail[base + 2], have * 1000));
          CONTINUE;
        END IF;
      END IF;
      credits[i] := need;
      covered[i] := cover;
      tokens[i] := cover * p_fn[(f) * 5 - 0];
      avail[base + 1] := have - need;
      avail[base + 2] := avail[base + 2] - tokens[i];
      org_reserved[base + 1] := org_reserved[base + 1] + need;
      org_reserved[base + 2] := org_reserved[base + 2] + tokens[i];
    ELSE
      fixed := p_ft[(f) * 7 - 1]::bigint[];
      FOREACH bucket IN ARRAY p_ft[(f) * 7 - 0]::int[] LOOP
        IF fixed[bucket] > greatest(0, avail[base + bucket]) AND bucket <> 2 THEN
          codes[i] := 5;
          short_bucket[i] := bucket;
          short_left[i] := greatest(0, avail[base + bucket]);
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 5;
      FOR k IN 1..9 LOOP
        avail[base + k] := avail[base + k] - fixed[k];
        org_reserved[base + k] := org_reserved[base + k] + fixed[k];
      END LOOP;
    END IF;
  END LOOP;

  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
        job_id, run_id, holder, service_client, client_name, user_agent)
      SELECT u.op, p_ot[(u.o) * 2 - 1], p_ct[(u.c) * 2 - 1], p_ct[(u.c) * 2 - 0], p_ft[(u.p) * 7 - 6], 'reserved', org_period[u.o],
        COALESCE(p_ft[(u.p) * 7 - 1]::bigint[], ARRAY[u.credits, u.tokens, 0, 0, 0, 0, 0, 0, 0]), p_ft[(u.p) * 7 - 5],
        p_rt[(u.i) * 4 - 2], p_rt[(u.i) * 4 - 1], p_rt[(u.i) * 4 - 0], p_holder,
        p_ft[(u.p) * 7 - 4], p_ft[(u.p) * 7 - 3], p_ft[(u.p) * 7 - 2]
  FROM (
        SELECT req.nth AS i, req.p, p_rt[(req.nth) * 4 - 3] AS op, credits[req.nth] AS credits, tokens[req.nth] AS tokens, p_fn[(req.p) * 5 - 1]::int AS o,
          p_fn[(req.p) * 5 - 4]::int AS c
        FROM (SELECT nth, p_rn[(nth) * 5 - 4]::int AS p FROM generate_series(1, cardinality(p_rt) / 4) nth) req) u
      WHERE u.op IS NOT NULL AND codes[u.i] = 0;
  FOR i IN 1 .. cardinality(p_ot) / 2 LOOP
    IF org_open[i] THEN
      UPDATE balances c SET reserved = org_reserved[(i - 1) * 9 + 1 : i * 9]
        WHERE c.org_id = p_ot[(i) * 2 - 1] AND c.period_start = org_period[i];
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_wt) / 2 LOOP
    IF w_taken[i] > 0 THEN
      r := penstock_window_take(p_wt[(i) * 2 - 1], p_wt[(i) * 2 - 0], p_wn[(i) * 5 - 3]::int, p_wn[(i) * 5 - 2]::int, p_wn[(i) * 5 - 1], w_taken[i]);
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  RETURN json_build_object('c', codes, 'x', left_x, 'y', left_y, 'g', credits, 'e', covered, 'b', short_bucket, 'm', short_left,
    't', w_gains, 'n', w_now, 'd', known);
END $$;
