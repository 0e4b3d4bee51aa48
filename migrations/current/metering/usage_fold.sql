-- Folds the next rows of an organisation's ledger, `p_most` at most, and moves its watermark in the same transaction, so that
-- each row counts once, whoever is killed meanwhile. Answers how many rows it took; 0 also where another process is at it.
--
-- Numbers are given under the lock of the organisation's balance: whoever sees one sees all before it.
CREATE OR REPLACE FUNCTION penstock_usage_fold(p_org text, p_most int) RETURNS int LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  f usage_folds;
  names CONSTANT text := (penstock_usage_sums()).names;
  charged CONSTANT text := (SELECT string_agg(format('COALESCE(sum(charged[%s]), 0)', nth), ', ')
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
          COALESCE(sum(tokens[1]), 0), COALESCE(sum(tokens[2]), 0), COALESCE(sum(tokens[3]), 0), COALESCE(sum(tokens[4]), 0),
          COALESCE(sum(tokens[5]), 0), COALESCE(sum(cost_nano), 0), COALESCE(sum(penstock_latency_digit(latency_ms)), 0), %2$s
        FROM taken CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(taken.tags) < 2 THEN taken.tags
          ELSE ARRAY(SELECT DISTINCT t FROM unnest(taken.tags) t ORDER BY t) END AS tags) named
        WHERE is_call OR kind = 'adjustment'
        GROUP BY at, period_start, model, provider, key_id, end_user, kind, status, named.tags
      RETURNING start
    )
    SELECT (SELECT count(*) FROM taken), (SELECT max(sequence) FROM taken), (SELECT max(settled_at) FROM taken),
      (SELECT array_agg(DISTINCT date_bin('30 minutes', start, 'epoch')) FROM added WHERE start < $4)$sql$, names, charged)
    INTO taken, last, latest, touched USING p_org, f.sequence, p_most, f.halves_until;
  IF taken = 0 THEN
    RETURN 0;
  END IF;
  UPDATE usage_folds c SET sequence = last, folded_at = greatest(c.folded_at, latest) WHERE c.org_id = p_org;
  PERFORM penstock_usage_regroup(p_org, touched, f.days_until);
  RETURN taken;
END $$;

-- Groups half hours, and their days, that were grouped already, once more.
CREATE OR REPLACE FUNCTION penstock_usage_regroup(p_org text, p_halves timestamptz[], p_days_until timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  half timestamptz;
  day timestamptz;
BEGIN
  FOREACH half IN ARRAY COALESCE(p_halves, '{}') LOOP
    DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = 1 AND r.start = half;
    PERFORM penstock_usage_group_cells(p_org, 1, half, half + interval '30 minutes');
  END LOOP;
  FOR day IN SELECT DISTINCT date_bin('1 day', h, 'epoch') FROM unnest(p_halves) h WHERE h < p_days_until LOOP
    DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = 2 AND r.start = day;
    PERFORM penstock_usage_group_days(p_org, day, day + interval '1 day');
  END LOOP;
END $$;

-- Merges and groups the next half hours and days that are over, a few in each call. Answers whether it found any: there may
-- be more then. Where rows wait to be folded, only what is before the last folded one is taken for over.
CREATE OR REPLACE FUNCTION penstock_usage_group(p_org text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  f usage_folds;
  over timestamptz;
  from_time timestamptz;
  until_time timestamptz;
BEGIN
  SELECT * INTO f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  over := CASE WHEN EXISTS (SELECT 1 FROM balances b WHERE b.org_id = p_org AND NOT b.superseded AND b.sequence > f.sequence)
    THEN f.folded_at ELSE clock_timestamp() - interval '5 minutes' END;
  IF f.days_until < date_bin('1 day', f.halves_until, 'epoch') THEN
    SELECT date_bin('1 day', min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.days_until;
    until_time := least(from_time + interval '1 day', date_bin('1 day', f.halves_until, 'epoch'));
    IF from_time < until_time THEN
      PERFORM penstock_usage_group_days(p_org, from_time, until_time);
    ELSE
      until_time := date_bin('1 day', f.halves_until, 'epoch');
    END IF;
    UPDATE usage_folds c SET days_until = until_time WHERE c.org_id = p_org;
    RETURN true;
  END IF;
  SELECT date_bin('30 minutes', min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.halves_until;
  -- Two hours at a time, and never past the end of a day, so that days follow at once.
  until_time := least(from_time + interval '2 hours', date_bin('1 day', from_time, 'epoch') + interval '1 day', date_bin('30 minutes', over, 'epoch'));
  IF from_time IS NULL OR from_time >= until_time THEN
    RETURN false;
  END IF;
  PERFORM penstock_usage_merge(p_org, from_time, until_time);
  PERFORM penstock_usage_group_cells(p_org, 1, from_time, until_time);
  UPDATE usage_folds c SET halves_until = until_time WHERE c.org_id = p_org;
  RETURN true;
END $$;

-- Folds an organisation's ledger anew, from its first number on, or from the first after the last that is missing with its
-- month: what is older stays as it is. All in one transaction, so that readers see the rollups of before or of after.
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
  DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = 1 AND r.start >= date_bin('30 minutes', begins, 'epoch');
  DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = 2 AND r.start >= date_bin('1 day', begins, 'epoch');
  UPDATE usage_folds c SET sequence = kept, folded_at = begins, halves_until = least(f.halves_until, date_bin('30 minutes', begins, 'epoch')),
    days_until = least(f.days_until, date_bin('1 day', begins, 'epoch')) WHERE c.org_id = p_org;
  LOOP
    taken := penstock_usage_fold(p_org, 50000);
    EXIT WHEN taken = 0;
    folded := folded + taken;
  END LOOP;
  WHILE penstock_usage_group(p_org) LOOP
  END LOOP;
  RETURN folded;
END $$;
