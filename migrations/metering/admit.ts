/**
 * Takes a window's row for this batch and answers where it stands. `first`: the oldest slot still in the window; `free`: slots left;
 * `stamp`: when the slots of this batch count as taken; `gains_at`: when the window next gains a slot. Windows of up to 600 slots
 * are exact; larger ones count in steps of 1/200 of their length, rounded up, so that they are never over.
 */
const WINDOW = `
CREATE OR REPLACE FUNCTION penstock_window_open(
  p_key text, p_name text, p_limit int, p_length bigint,
  OUT first int, OUT total int, OUT stamp bigint, OUT gains_at bigint, OUT now_us bigint
) LANGUAGE plpgsql AS $$
DECLARE
  w rate_windows;
  step bigint;
  newest int;
  j int;
  kept int;
BEGIN
  SELECT * INTO w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO rate_windows (key_id, name) VALUES (p_key, p_name) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  END IF;
  now_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  newest := cardinality(w.stamps);
  first := 1;
  total := w.total;
  IF newest > 0 AND w.stamps[newest] <= now_us - p_length THEN
    first := newest + 1;
    total := 0;
  END IF;
  WHILE first <= newest AND w.stamps[first] <= now_us - p_length LOOP
    total := total - w.counts[first];
    first := first + 1;
  END LOOP;
  stamp := now_us;
  IF p_limit > 600 THEN
    step := greatest(1, p_length / 200);
    stamp := (now_us + step - 1) / step * step;
  END IF;
  IF first > newest THEN
    gains_at := stamp + p_length;
  ELSE
    stamp := greatest(stamp, w.stamps[newest]);
    j := first;
    kept := total - w.counts[j];
    WHILE kept >= p_limit AND j < newest LOOP
      j := j + 1;
      kept := kept - w.counts[j];
    END LOOP;
    gains_at := w.stamps[j] + p_length;
  END IF;
END $$;`;

/** Writes the slots that a batch took into the row that penstock_window_open locked. */
const WINDOW_TAKE = `
CREATE OR REPLACE FUNCTION penstock_window_take(p_key text, p_name text, p_first int, p_total int, p_stamp bigint, p_taken int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE rate_windows q SET
      total = p_total + p_taken,
      stamps = CASE WHEN p_first <= cardinality(q.stamps) AND q.stamps[cardinality(q.stamps)] = p_stamp
        THEN q.stamps[p_first:] ELSE q.stamps[p_first:] || p_stamp END,
      counts = CASE WHEN p_first <= cardinality(q.stamps) AND q.stamps[cardinality(q.stamps)] = p_stamp
        THEN q.counts[p_first:cardinality(q.counts) - 1] || (q.counts[cardinality(q.counts)] + p_taken)
        ELSE q.counts[p_first:] || p_taken END
    WHERE q.key_id = p_key AND q.name = p_name;
END $$;`;

/**
 * Admission of a batch of requests, in order (decisions.md 1 and 4). For each: is the key valid and the caller's copy of the
 * organisation current; are both windows free, then both slots are taken; does the whole price fit, then it is reserved with its
 * ledger row. Locks windows, then balances, each in the order of the batch, which the caller sorted; writes each row once.
 *
 * Columns of the batch: caller (key, version, ended: the subscription is over; organisation, sorted, or 0), window (caller, name,
 * limit, length in microseconds; sorted by key and name), organisation, request (caller, windows or 0, operation or null, its row,
 * token price or its fixed amounts as pairs of bucket and amount).
 *
 * Answers columns by request: c 0 admitted, 1 invalid key, 2 expired key, 3 stale copy, 4 window full, 5 bucket exhausted, 6 the
 * operation exists (its amounts stand in `d`); x, y slots left of the windows; g credits reserved; e tokens covered; b the exhausted
 * bucket, m what is left of it; and by window: t when it gains a slot, n the time then (microseconds).
 */
const ADMIT = `
CREATE OR REPLACE FUNCTION penstock_admit(p_batch jsonb) RETURNS json LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  a record;
  r record;
  b balances;
  size int;
  caller_state int[] := '{}';
  org_open boolean[];
  org_period timestamptz[];
  org_reserved bigint[] := '{}';
  avail bigint[] := '{}';
  w_first int[] := '{}';
  w_total int[] := '{}';
  w_free int[] := '{}';
  w_stamp bigint[] := '{}';
  w_gains bigint[] := '{}';
  w_now bigint[] := '{}';
  codes int[];
  left_x int[];
  left_y int[];
  credits bigint[];
  tokens bigint[];
  covered bigint[];
  short_bucket int[];
  short_left bigint[];
  wrote int := 0;
  admitted int := 0;
  code int;
  who int;
  x int;
  y int;
  o int;
  base int;
  need bigint;
  cover bigint;
  have bigint;
  known jsonb := '{}';
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO a FROM jsonb_to_record(p_batch) AS v (
    holder text, ck text[], cu text[], cv bigint[], ce boolean[], co int[], wc int[], wn text[], wl int[], wd bigint[],
    oi text[], ov bigint[], oa text[],
    k int[], x int[], y int[], op text[], q int[], kind text[], model text[], req text[], job text[], run text[],
    sc text[], cn text[], ua text[], tp int[], tm int[], mu int[], fx text[], ps int[], pc int[], pb int[], pa bigint[]);
  size := cardinality(a.k);
  org_open := array_fill(false, ARRAY[cardinality(a.oi)]);

  FOR i IN 1 .. cardinality(a.ck) LOOP
    SELECT CASE
        WHEN q.revoked_at IS NOT NULL THEN 1
        WHEN q.expires_at <= clock_timestamp() THEN 2
        WHEN g.version <> a.cv[i]
          OR a.ce[i] <> COALESCE(g.subscription_status = 'cancelled' AND g.subscription_ends_at <= clock_timestamp(), false) THEN 3
        ELSE 0 END
      INTO code FROM api_keys q JOIN organizations g ON g.id = q.org_id WHERE q.id = a.ck[i];
    code := COALESCE(code, 1);
    caller_state := caller_state || code;
    IF code = 0 AND a.co[i] > 0 THEN
      org_open[a.co[i]] := true;
    END IF;
  END LOOP;

  FOR i IN 1 .. cardinality(a.wc) LOOP
    IF caller_state[a.wc[i]] = 0 THEN
      r := penstock_window_open(a.ck[a.wc[i]], a.wn[i], a.wl[i], a.wd[i]);
      w_first[i] := r.first;
      w_total[i] := r.total;
      w_free[i] := a.wl[i] - r.total;
      w_stamp[i] := r.stamp;
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;

  FOR i IN 1 .. cardinality(a.oi) LOOP
    IF org_open[i] THEN
      b := penstock_balance_open(a.oi[i], a.ov[i], a.oa[i]::bigint[]);
      org_open[i] := b.org_version <= a.ov[i];
      org_period[i] := b.period_start;
      FOR k IN 1..9 LOOP
        org_reserved[(i - 1) * 9 + k] := b.reserved[k];
        avail[(i - 1) * 9 + k] := CASE
          WHEN k = 2 THEN CASE WHEN b.allowance[1] = -1 THEN 4000000000000000
            ELSE (b.allowance[1] + b.topup_start[1] + b.topup_added[1]) * 1000 - b.used[2] - b.reserved[2] END
          WHEN b.allowance[k] = -1 THEN 4000000000000000
          ELSE b.allowance[k] + b.topup_start[k] + b.topup_added[k] - b.used[k] - b.reserved[k] END;
      END LOOP;
    END IF;
  END LOOP;

  codes := array_fill(0, ARRAY[size]);
  left_x := codes;
  left_y := codes;
  short_bucket := codes;
  credits := array_fill(0::bigint, ARRAY[size]);
  tokens := credits;
  covered := credits;
  short_left := credits;

  FOR i IN 1 .. size LOOP
    who := a.k[i];
    code := caller_state[who];
    IF code = 0 AND a.q[i] > 0 AND NOT org_open[a.co[who]] THEN
      code := 3;
    END IF;
    IF code <> 0 THEN
      codes[i] := code;
      CONTINUE;
    END IF;
    x := a.x[i];
    y := a.y[i];
    IF x > 0 AND w_free[x] <= 0 OR y > 0 AND w_free[y] <= 0 THEN
      codes[i] := 4;
      left_x[i] := w_free[x];
      left_y[i] := w_free[y];
      CONTINUE;
    END IF;
    IF x > 0 THEN
      w_free[x] := w_free[x] - 1;
      left_x[i] := w_free[x];
    END IF;
    IF y > 0 THEN
      w_free[y] := w_free[y] - 1;
      left_y[i] := w_free[y];
    END IF;
    CONTINUE WHEN a.q[i] = 0;
    base := (a.co[who] - 1) * 9;
    IF a.q[i] = 1 THEN
      cover := a.tp[i]::bigint + a.tm[i];
      need := greatest(1, (cover * a.mu[i] + 99999) / 100000) * 100;
      have := avail[base + 1];
      IF need > have THEN
        need := have / 100 * 100;
        cover := need * 1000 / a.mu[i];
        IF need < 100 OR cover < a.tp[i] + 1 THEN
          codes[i] := 5;
          short_bucket[i] := 2;
          short_left[i] := greatest(0, least(avail[base + 2], have * 1000));
          CONTINUE;
        END IF;
      END IF;
      credits[i] := need;
      covered[i] := cover;
      tokens[i] := cover * a.mu[i];
      avail[base + 1] := have - need;
      avail[base + 2] := avail[base + 2] - tokens[i];
      org_reserved[base + 1] := org_reserved[base + 1] + need;
      org_reserved[base + 2] := org_reserved[base + 2] + tokens[i];
    ELSE
      FOR j IN a.ps[i] .. a.ps[i] + a.pc[i] - 1 LOOP
        o := base + a.pb[j];
        IF a.pa[j] > avail[o] AND a.pa[j] > 0 AND a.pb[j] <> 2 THEN
          codes[i] := 5;
          short_bucket[i] := a.pb[j];
          short_left[i] := greatest(0, avail[o]);
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] <> 0;
      FOR j IN a.ps[i] .. a.ps[i] + a.pc[i] - 1 LOOP
        o := base + a.pb[j];
        avail[o] := avail[o] - a.pa[j];
        org_reserved[o] := org_reserved[o] + a.pa[j];
      END LOOP;
    END IF;
    admitted := admitted + 1;
  END LOOP;

  IF admitted > 0 THEN
    INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id, job_id,
        run_id, holder, service_client, client_name, user_agent)
      SELECT u.op, a.oi[a.co[u.k]], a.ck[u.k], a.cu[u.k], u.kind, 'reserved', org_period[a.co[u.k]],
        CASE WHEN u.fx IS NULL THEN ARRAY[u.credits, u.tokens, 0, 0, 0, 0, 0, 0, 0] ELSE u.fx::bigint[] END,
        u.model, u.req, u.job, u.run, a.holder, u.sc, u.cn, u.ua
      FROM unnest(codes, a.k, a.op, a.kind, credits, tokens, a.fx, a.model, a.req, a.job, a.run, a.sc, a.cn, a.ua)
        u (code, k, op, kind, credits, tokens, fx, model, req, job, run, sc, cn, ua)
      WHERE u.code = 0 AND u.op IS NOT NULL
      ON CONFLICT (operation_id) DO NOTHING;
    GET DIAGNOSTICS wrote = ROW_COUNT;
  END IF;
  IF wrote < admitted OR 5 = ANY (codes) THEN
    FOR r IN
      SELECT u.i, u.code, l.reserved FROM (
        SELECT n.op, n.code, n.i::int, row_number() OVER (PARTITION BY n.op, n.code ORDER BY n.i) AS nth
        FROM unnest(a.op, codes) WITH ORDINALITY n (op, code, i) WHERE n.op IS NOT NULL AND n.code IN (0, 5)) u
      JOIN usage_ledger l ON l.operation_id = u.op
      WHERE u.code = 5 OR u.nth > 1 OR l.xmin <> pg_current_xact_id()::xid
    LOOP
      base := (a.co[a.k[r.i]] - 1) * 9;
      IF r.code = 0 AND a.q[r.i] = 1 THEN
        org_reserved[base + 1] := org_reserved[base + 1] - credits[r.i];
        org_reserved[base + 2] := org_reserved[base + 2] - tokens[r.i];
      ELSIF r.code = 0 THEN
        FOR j IN a.ps[r.i] .. a.ps[r.i] + a.pc[r.i] - 1 LOOP
          org_reserved[base + a.pb[j]] := org_reserved[base + a.pb[j]] - a.pa[j];
        END LOOP;
      END IF;
      codes[r.i] := 6;
      known := known || jsonb_build_object(r.i - 1, r.reserved);
    END LOOP;
  END IF;

  FOR i IN 1 .. cardinality(a.wc) LOOP
    IF caller_state[a.wc[i]] = 0 AND w_free[i] < a.wl[i] - w_total[i] THEN
      PERFORM penstock_window_take(a.ck[a.wc[i]], a.wn[i], w_first[i], w_total[i], w_stamp[i], a.wl[i] - w_total[i] - w_free[i]);
    END IF;
  END LOOP;

  IF wrote > 0 THEN
    FOR i IN 1 .. cardinality(a.oi) LOOP
      IF org_open[i] THEN
        UPDATE balances c SET reserved = org_reserved[(i - 1) * 9 + 1 : i * 9]
          WHERE c.org_id = a.oi[i] AND c.period_start = org_period[i];
      END IF;
    END LOOP;
  END IF;

  RETURN json_build_object('c', codes, 'x', left_x, 'y', left_y, 'g', credits, 'e', covered, 'b', short_bucket, 'm', short_left,
    't', w_gains, 'n', w_now, 'd', known);
END $$;`;

export const ADMISSION = [WINDOW, WINDOW_TAKE, ADMIT];
