-- Checks the requests of a batch one by one, in order. Returns columns by request: c 0 admitted, 1 invalid key, 2
-- expired key, 3 stale copy, 4 window full, 5 bucket exhausted, 6 the operation exists (d has its amounts), 7 budget
-- exceeded (o has the number of its counter, and its remaining amount as text); x, y, z slots left of the three
-- windows; g credits reserved; e tokens covered; b the exhausted bucket, m its remaining amount; and by window: t when
-- it gains a slot, n the current time (microseconds).
CREATE OR REPLACE FUNCTION penstock_admit_each(
  p_holder text, p_callers admission_caller[], p_windows admission_window[], p_orgs admission_org[],
  p_counters admission_counter[], p_profiles admission_profile[], p_requests admission_request[]
) RETURNS json LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- The caller's clock and the database's clock may disagree on whether a subscription has ended. Near the end, both
  -- answers are accepted.
  clock_skew_seconds CONSTANT int := 5;
  width CONSTANT int := cardinality(penstock_bucket_names());
  size CONSTANT int := cardinality(p_requests);
  r record;
  b balances;
  c admission_caller;
  w admission_window;
  o admission_org;
  f admission_profile;
  q admission_request;
  caller_state int[] := '{}';
  org_open boolean[] := array_fill(false, ARRAY[cardinality(p_orgs)]);
  org_period timestamptz[] := '{}';
  org_reserved bigint[] := '{}';
  avail bigint[] := '{}';
  w_slots int[] := '{}';
  w_taken int[] := array_fill(0, ARRAY[cardinality(p_windows)]);
  w_gains bigint[] := '{}';
  w_now bigint[] := '{}';
  codes int[] := array_fill(0, ARRAY[size]);
  left_x int[] := codes;
  left_y int[] := codes;
  left_z int[] := codes;
  given_credits bigint[] := array_fill(0::bigint, ARRAY[size]);
  given_tokens bigint[] := given_credits;
  covered bigint[] := given_credits;
  short_bucket int[] := codes;
  short_left bigint[] := given_credits;
  known jsonb := '{}';
  moment CONSTANT timestamptz := clock_timestamp();
  -- By counter: its id (null if it does not exist yet), the remaining amount (null if its budget refuses nothing), the
  -- amount that the batch reserves (null: nothing).
  counter_ids bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_counters)]);
  rooms bigint[] := counter_ids;
  taken bigint[] := counter_ids;
  given_nano bigint[] := array_fill(NULL::bigint, ARRAY[size]);
  exceeded jsonb := '{}';
  wants bigint[];
  counter int;
  nano bigint;
  seen text[] := '{}';
  state int;
  x int;
  y int;
  z int;
  base int;
  need bigint;
  cover bigint;
  have bigint;
  bucket int;
BEGIN
  FOREACH c IN ARRAY p_callers LOOP
    SELECT CASE WHEN k.revoked_at IS NOT NULL THEN 1 WHEN k.expires_at <= clock_timestamp() THEN 2
        WHEN g.version <> c.version OR (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) <> c.ended
          AND NOT COALESCE(abs(date_part('epoch', g.subscription_ends_at - clock_timestamp())) < clock_skew_seconds, false) THEN 3
        ELSE 0 END
      INTO state FROM api_keys k JOIN organizations g ON g.id = k.org_id WHERE k.id = c.key_id;
    caller_state := caller_state || COALESCE(state, 1);
  END LOOP;
  FOREACH f IN ARRAY p_profiles LOOP
    IF f.org > 0 AND caller_state[f.caller] = 0 THEN
      org_open[f.org] := true;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_windows) LOOP
    w := p_windows[i];
    IF caller_state[w.caller] = 0 THEN
      r := penstock_window_open(w.key_id, w.name, w.grain, w.stamps, w.length_us);
      w_slots[i] := r.slots;
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_orgs) LOOP
    IF org_open[i] THEN
      o := p_orgs[i];
      b := penstock_balance_open(o.id, o.version, o.allowance);
      org_open[i] := b.org_version <= o.version;
      org_period[i] := b.period_start;
      avail := avail || penstock_available(b);
      org_reserved := org_reserved || b.reserved;
    ELSE
      avail := avail || penstock_zeros();
      org_reserved := org_reserved || penstock_zeros();
    END IF;
  END LOOP;

  IF cardinality(p_counters) > 0 THEN
    FOR i IN 1 .. cardinality(p_counters) LOOP
      rooms[i] := (p_counters[i]).cap;
    END LOOP;
    FOR r IN SELECT * FROM penstock_budget_rooms(p_counters, moment) LOOP
      counter_ids[r.nth] := r.id;
      rooms[r.nth] := r.room;
    END LOOP;
  END IF;

  FOR i IN 1 .. size LOOP
    q := p_requests[i];
    f := p_profiles[q.profile];
    codes[i] := caller_state[f.caller];
    IF codes[i] = 0 AND q.operation_id IS NOT NULL THEN
      IF NOT org_open[f.org] THEN
        codes[i] := 3;
      ELSE
        SELECT jsonb_build_object(i - 1, l.reserved) AS entry INTO r FROM usage_ledger l WHERE l.operation_id = q.operation_id;
        IF FOUND THEN
          known := known || r.entry;
          codes[i] := 6;
        ELSIF q.operation_id = ANY (seen) THEN
          codes[i] := 3;
        ELSE
          seen := seen || q.operation_id;
        END IF;
      END IF;
    END IF;
    CONTINUE WHEN codes[i] IN (1, 2, 3);
    x := f.key_window;
    y := f.endpoint_window;
    z := f.own_window;
    IF x > 0 AND w_slots[x] <= 0 OR y > 0 AND w_slots[y] <= 0 OR z > 0 AND w_slots[z] <= 0 THEN
      codes[i] := 4;
      left_x[i] := w_slots[x];
      left_y[i] := w_slots[y];
      left_z[i] := w_slots[z];
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
    IF z > 0 THEN
      w_slots[z] := w_slots[z] - 1;
      w_taken[z] := w_taken[z] + 1;
      left_z[i] := w_slots[z];
    END IF;
    CONTINUE WHEN codes[i] = 6 OR q.operation_id IS NULL;
    base := (f.org - 1) * width;
    IF f.multiplier > 0 THEN
      need := q.credits;
      cover := q.prompt + q.max;
      have := avail[base + 1];
      IF need > have THEN
        need := have / 100 * 100;
        cover := need * 1000 / f.multiplier;
        IF need < 100 OR cover < q.prompt + 1 THEN
          codes[i] := 5;
          short_bucket[i] := 2;
          short_left[i] := greatest(0, least(avail[base + 2], have * 1000));
          CONTINUE;
        END IF;
      END IF;
      wants := penstock_token_vector(need, cover * f.multiplier);
      nano := penstock_budget_nano(q, cover);
    ELSE
      FOREACH bucket IN ARRAY f.buckets LOOP
        IF f.fixed[bucket] > greatest(0, avail[base + bucket]) AND bucket <> 2 THEN
          codes[i] := 5;
          short_bucket[i] := bucket;
          short_left[i] := greatest(0, avail[base + bucket]);
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 5;
      wants := f.fixed;
      nano := q.nano;
    END IF;
    IF f.counters IS NOT NULL THEN
      FOREACH counter IN ARRAY f.counters LOOP
        IF rooms[counter] IS NOT NULL AND penstock_budget_part((p_counters[counter]).amount, wants, nano) > greatest(0, rooms[counter]) THEN
          codes[i] := 7;
          exceeded := exceeded || jsonb_build_object(i - 1, jsonb_build_array(counter, greatest(0, rooms[counter])::text));
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 7;
      FOREACH counter IN ARRAY f.counters LOOP
        taken[counter] := COALESCE(taken[counter], 0) + penstock_budget_part((p_counters[counter]).amount, wants, nano);
        rooms[counter] := rooms[counter] - penstock_budget_part((p_counters[counter]).amount, wants, nano);
      END LOOP;
      given_nano[i] := nano;
    END IF;
    IF f.multiplier > 0 THEN
      given_credits[i] := need;
      covered[i] := cover;
      given_tokens[i] := cover * f.multiplier;
    END IF;
    FOR k IN 1 .. CASE WHEN f.multiplier > 0 THEN 2 ELSE width END LOOP
      avail[base + k] := avail[base + k] - wants[k];
      org_reserved[base + k] := org_reserved[base + k] + wants[k];
    END LOOP;
  END LOOP;

  FOR i IN 1 .. cardinality(p_counters) LOOP
    CONTINUE WHEN taken[i] IS NULL;
    IF counter_ids[i] IS NULL THEN
      counter_ids[i] := penstock_budget_open(p_counters[i], moment, taken[i]);
    ELSE
      UPDATE budget_counters t SET reserved = t.reserved + taken[i] WHERE t.id = counter_ids[i];
    END IF;
  END LOOP;
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
      job_id, run_id, holder, service_client, client_name, user_agent, end_user, tags, parent,
      reserved_nano, counters)
    SELECT request.operation_id, (p_orgs[profile.org]).id, (p_callers[profile.caller]).key_id, (p_callers[profile.caller]).user_id,
      profile.kind, 'reserved', org_period[profile.org],
      COALESCE(profile.fixed, penstock_token_vector(given_credits[request.ordinality], given_tokens[request.ordinality])),
      profile.model, request.request_id, request.job_id, request.run_id, p_holder, profile.service_client, profile.client_name,
      profile.user_agent, profile.end_user, profile.tags, request.parent, given_nano[request.ordinality],
      CASE WHEN profile.counters IS NOT NULL THEN ARRAY(SELECT counter_ids[k] FROM unnest(profile.counters) k WHERE counter_ids[k] IS NOT NULL) END
    FROM unnest(p_profiles) WITH ORDINALITY profile
    JOIN unnest(p_requests) WITH ORDINALITY request ON request.profile = profile.ordinality
    WHERE request.operation_id IS NOT NULL AND codes[request.ordinality] = 0;
  FOR i IN 1 .. cardinality(p_orgs) LOOP
    IF org_open[i] THEN
      o := p_orgs[i];
      UPDATE balances t SET reserved = org_reserved[(i - 1) * width + 1 : i * width]
        WHERE t.org_id = o.id AND t.period_start = org_period[i];
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_windows) LOOP
    IF w_taken[i] > 0 THEN
      w := p_windows[i];
      r := penstock_window_take(w.key_id, w.name, w.grain, w.stamps, w.length_us, w_taken[i]);
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  RETURN json_build_object('c', codes, 'x', left_x, 'y', left_y, 'z', left_z, 'g', given_credits, 'e', covered, 'b', short_bucket, 'm', short_left,
    't', w_gains, 'n', w_now, 'd', known, 'o', exceeded);
END $$;
