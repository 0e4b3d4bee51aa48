-- Folds the next rows of an organisation's ledger, at most `p_most`, and moves its watermark in the same transaction,
-- so that each row counts once, even if a process is killed meanwhile. Returns the number of folded rows; 0 also if
-- another process is folding.
--
-- Numbers are taken under the lock of the organisation's balance, so a reader that sees a number also sees all earlier
-- numbers.
CREATE OR REPLACE FUNCTION penstock_usage_fold(p_org text, p_most int) RETURNS int LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  f usage_folds;
  names CONSTANT text := (penstock_usage_sums()).names;
  charged CONSTANT text := (SELECT string_agg(format('penstock_sum(charged[%s])', nth), ', ')
    FROM generate_subscripts(penstock_bucket_names(), 1) nth);
  taken int;
  last bigint;
  latest timestamptz;
  touched timestamptz[];
BEGIN
  INSERT INTO usage_folds (org_id) VALUES (p_org) ON CONFLICT DO NOTHING;
  SELECT * INTO f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  EXECUTE format($sql$
    WITH taken AS MATERIALIZED (
      SELECT l.*, l.kind NOT IN ('adjustment', 'top_up', 'period', 'hold') AS is_call FROM usage_ledger l
        WHERE l.org_id = $1 AND l.sequence > $2 ORDER BY l.sequence LIMIT $3
    ), added AS (
      INSERT INTO usage_cells (org_id, start, period_start, model, provider, key_id, end_user, operation, status, tags, %1$s)
      SELECT $1, date_bin('15 minutes', settled_at, 'epoch') AS at, period_start, model, provider, key_id, end_user, kind, status, named.tags,
          count(*) FILTER (WHERE is_call), count(*) FILTER (WHERE is_call AND status = 'failed'), count(*) FILTER (WHERE is_call AND cost_nano IS NULL),
          penstock_sum(tokens[1]), penstock_sum(tokens[2]), penstock_sum(tokens[3]), penstock_sum(tokens[4]), penstock_sum(tokens[5]),
          penstock_sum(cost_nano), COALESCE(sum(penstock_latency_digit(latency_ms)), 0), %2$s
        FROM taken CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(taken.tags) < 2 THEN taken.tags
          ELSE ARRAY(SELECT DISTINCT t FROM unnest(taken.tags) t ORDER BY t) END AS tags) named
        WHERE is_call OR kind = 'adjustment'
        GROUP BY at, period_start, model, provider, key_id, end_user, kind, status, named.tags
      RETURNING start
    )
    SELECT (SELECT count(*) FROM taken), (SELECT max(sequence) FROM taken), (SELECT max(settled_at) FROM taken),
      (SELECT array_agg(DISTINCT date_bin('30 minutes', start, 'epoch')) FROM added WHERE start < $4)$sql$, names, charged)
    INTO taken, last, latest, touched USING p_org, f.sequence, p_most, f.whole_until[1];
  IF taken = 0 THEN
    RETURN 0;
  END IF;
  UPDATE usage_folds c SET sequence = last, folded_at = greatest(c.folded_at, latest) WHERE c.org_id = p_org;
  PERFORM penstock_usage_regroup(p_org, touched, f.whole_until);
  RETURN taken;
END $$;

-- Groups half hours again, and the longer pieces that contain them, although they were already grouped. Weeks take long: they
-- are only marked here, from the first one on, and penstock_usage_group groups one of them in each call.
CREATE OR REPLACE FUNCTION penstock_usage_regroup(p_org text, p_halves timestamptz[], p_whole_until timestamptz[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  weeks CONSTANT int := cardinality(p_whole_until);
  step interval;
  piece timestamptz;
BEGIN
  FOR nth IN 1 .. weeks - 1 LOOP
    step := penstock_usage_step(nth);
    FOR piece IN SELECT DISTINCT date_bin(step, h, 'epoch') FROM unnest(p_halves) h WHERE h < p_whole_until[nth] LOOP
      DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = nth AND r.start = piece;
      PERFORM penstock_usage_add_up(p_org, nth, piece, piece + step);
    END LOOP;
  END LOOP;
  SELECT date_bin(penstock_usage_step(weeks), min(h), 'epoch') INTO piece FROM unnest(p_halves) h WHERE h < p_whole_until[weeks];
  IF piece IS NOT NULL THEN
    DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = weeks AND r.start >= piece;
    UPDATE usage_folds f SET whole_until[weeks] = piece WHERE f.org_id = p_org;
  END IF;
END $$;

-- Merges and groups the next half hours that have ended, or sums the next piece of a coarser level, a few in each call.
-- Returns whether it found any; then there may be more. While rows wait to be folded, only the time before the last folded
-- row counts as ended.
CREATE OR REPLACE FUNCTION penstock_usage_group(p_org text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  f usage_folds;
  step interval;
  over timestamptz;
  from_time timestamptz;
  until_time timestamptz;
BEGIN
  SELECT * INTO f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  FOR nth IN REVERSE cardinality(f.whole_until) .. 2 LOOP
    step := penstock_usage_step(nth);
    over := date_bin(step, f.whole_until[nth - 1], 'epoch');
    CONTINUE WHEN f.whole_until[nth] >= over;
    SELECT date_bin(step, min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.whole_until[nth];
    until_time := least(from_time + step, over);
    IF from_time < until_time THEN
      PERFORM penstock_usage_add_up(p_org, nth, from_time, until_time);
    END IF;
    UPDATE usage_folds c SET whole_until[nth] = CASE WHEN from_time < until_time THEN until_time ELSE over END WHERE c.org_id = p_org;
    RETURN true;
  END LOOP;
  over := CASE WHEN EXISTS (SELECT 1 FROM balances b WHERE b.org_id = p_org AND NOT b.superseded AND b.sequence > f.sequence)
    THEN f.folded_at ELSE clock_timestamp() - interval '5 minutes' END;
  SELECT date_bin('30 minutes', min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.whole_until[1];
  -- Two hours at a time, and never past the end of four, so that those follow at once.
  until_time := least(from_time + interval '2 hours', date_bin('4 hours', from_time, 'epoch') + interval '4 hours', date_bin('30 minutes', over, 'epoch'));
  IF from_time IS NULL OR from_time >= until_time THEN
    RETURN false;
  END IF;
  PERFORM penstock_usage_merge(p_org, from_time, until_time);
  PERFORM penstock_usage_add_up(p_org, 1, from_time, until_time);
  UPDATE usage_folds c SET whole_until[1] = until_time WHERE c.org_id = p_org;
  RETURN true;
END $$;

-- Folds an organisation's ledger again, from its first number, or, if months were dropped, from the first number after
-- them; older rollups stay unchanged. All in one transaction, so that readers see either the old or the new rollups.
CREATE OR REPLACE FUNCTION penstock_usage_rebuild(p_org text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  f usage_folds;
  whole_from bigint;
  begins timestamptz := 'epoch';
  kept bigint := 0;
  folded bigint := 0;
  taken int;
BEGIN
  INSERT INTO usage_folds (org_id) VALUES (p_org) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE;
  SELECT max(n.sequence) INTO whole_from FROM (
    SELECT l.sequence, lag(l.sequence, 1, 0::bigint) OVER (ORDER BY l.sequence) AS before
      FROM usage_ledger l WHERE l.org_id = p_org AND l.sequence IS NOT NULL) n WHERE n.sequence > n.before + 1;
  IF whole_from IS NOT NULL THEN
    SELECT date_bin('15 minutes', l.settled_at, 'epoch') + interval '15 minutes' INTO begins
      FROM usage_ledger l WHERE l.org_id = p_org AND l.sequence = whole_from;
    SELECT COALESCE(max(l.sequence), whole_from - 1) INTO kept FROM usage_ledger l
      WHERE l.org_id = p_org AND l.sequence >= whole_from AND l.sequence <= f.sequence AND l.settled_at < begins;
  END IF;
  DELETE FROM usage_cells c WHERE c.org_id = p_org AND c.start >= begins;
  DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.start >= date_bin(penstock_usage_step(r.level), begins, 'epoch');
  UPDATE usage_folds c SET sequence = kept, folded_at = begins, whole_until = ARRAY(
      SELECT least(w.until, date_bin(penstock_usage_step(w.level::int), begins, 'epoch')) FROM unnest(f.whole_until) WITH ORDINALITY w (until, level) ORDER BY w.level)
    WHERE c.org_id = p_org;
  LOOP
    taken := penstock_usage_fold(p_org, 50000);
    EXIT WHEN taken = 0;
    folded := folded + taken;
  END LOOP;
  WHILE penstock_usage_group(p_org) LOOP
  END LOOP;
  RETURN folded;
END $$;
