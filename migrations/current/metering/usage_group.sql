-- The columns of `usage_cells` and `usage_rollups` that hold sums.
CREATE OR REPLACE FUNCTION penstock_usage_columns() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['requests', 'errors', 'unpriced', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens',
    'reasoning_tokens', 'cost_nano', 'latency'] || penstock_bucket_names()
$$;

-- Those columns, and their sums, as a list in SQL.
CREATE OR REPLACE FUNCTION penstock_usage_sums(OUT names text, OUT sums text) LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(c, ', '), string_agg('sum(' || c || ')', ', ') FROM unnest(penstock_usage_columns()) c
$$;

-- A latency as a histogram in one number: twelve decimal digits for each bucket, so that sums of such numbers add the counts
-- up; null of null. Bucket n holds what is over 1.1^(n-1) ms and at most 1.1^n; src/usage/latency.ts reads it.
CREATE OR REPLACE FUNCTION penstock_latency_digit(p_ms int) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT ('1e' || 12 * CASE WHEN p_ms <= 1 THEN 0 WHEN p_ms > 1 THEN least(ceil(ln(p_ms::float8) / ln(1.1::float8))::int, 220) END)::numeric
$$;

-- Adds the cells from `p_from` to before `p_until` up by the grouping sets of level 1 (half hours), or by those that days have
-- beyond (pairs with an end user). Their rollups are not there yet. A GROUPING of a level has a bit for each column that is
-- summed over; the bits of `dims` are the others. Rows are written in the order of the index: who filters reads neighbours.
CREATE OR REPLACE FUNCTION penstock_usage_group_cells(p_org text, p_level int, p_from timestamptz, p_until timestamptz) RETURNS void
LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
  step CONSTANT interval := CASE p_level WHEN 1 THEN interval '30 minutes' ELSE interval '1 day' END;
  sets CONSTANT text := CASE p_level
    WHEN 1 THEN '(), (model), (provider), (key_id), (end_user), (operation), (status), (model, provider), (model, key_id), '
      '(model, operation), (model, status), (provider, key_id), (provider, operation), (provider, status), (key_id, operation), '
      '(key_id, status), (operation, status)'
    ELSE '(model, end_user), (provider, end_user), (key_id, end_user), (end_user, operation), (end_user, status)' END;
  tag_sets CONSTANT text := CASE p_level WHEN 1 THEN '(), (model), (provider), (key_id), (operation), (status)' ELSE '(end_user)' END;
  -- Columns that no set of a level names: PostgreSQL knows no GROUPING of them.
  grouped CONSTANT text[] := CASE p_level WHEN 1 THEN ARRAY['model', 'provider', 'key_id', 'operation', 'status'] ELSE ARRAY['end_user'] END;
  bits CONSTANT jsonb := '{"model": 1, "provider": 2, "key_id": 4, "end_user": 8, "operation": 16, "status": 32}';
BEGIN
  EXECUTE format($sql$
    INSERT INTO usage_rollups (org_id, level, dims, start, model, provider, key_id, end_user, operation, status, %1$s)
    SELECT $1, $4, 63 - GROUPING(status, operation, end_user, key_id, provider, model) AS dims, at, model, provider, key_id, end_user,
        operation, status, %2$s
      FROM (SELECT date_bin($5, start, 'epoch') AS at, * FROM usage_cells WHERE org_id = $1 AND start >= $2 AND start < $3) c
      GROUP BY at, GROUPING SETS (%3$s) ORDER BY dims, at, model, provider, key_id, operation, status$sql$, s.names, s.sums, sets)
    USING p_org, p_from, p_until, p_level, step;
  EXECUTE format($sql$
    INSERT INTO usage_rollups (org_id, level, dims, start, %4$s, tag, %1$s)
    SELECT $1, $4, 64 + %5$s AS dims, at, %4$s, tag, %2$s
      FROM (SELECT date_bin($5, start, 'epoch') AS at, * FROM usage_cells WHERE org_id = $1 AND start >= $2 AND start < $3) c
      CROSS JOIN LATERAL unnest(CASE WHEN tags = '{}' THEN ARRAY[NULL::text] ELSE tags END) t (tag)
      GROUP BY at, tag, GROUPING SETS (%3$s) ORDER BY dims, at$sql$, s.names, s.sums, tag_sets, array_to_string(grouped, ', '),
      (SELECT string_agg(format('%s * (1 - GROUPING(%s))', bits -> g, g), ' + ') FROM unnest(grouped) g))
    USING p_org, p_from, p_until, p_level, step;
END $$;

-- Adds up whole days: what half hours have from those, the rest from the cells.
CREATE OR REPLACE FUNCTION penstock_usage_group_days(p_org text, p_from timestamptz, p_until timestamptz) RETURNS void LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
BEGIN
  EXECUTE format($sql$
    INSERT INTO usage_rollups (org_id, level, dims, start, model, provider, key_id, end_user, operation, status, tag, %1$s)
    SELECT $1, 2, dims, date_bin('1 day', start, 'epoch') AS day, model, provider, key_id, end_user, operation, status, tag, %2$s
      FROM usage_rollups WHERE org_id = $1 AND level = 1 AND start >= $2 AND start < $3
      GROUP BY dims, day, model, provider, key_id, end_user, operation, status, tag ORDER BY dims, day, model, provider, key_id, operation, status, tag$sql$, s.names, s.sums)
    USING p_org, p_from, p_until;
  PERFORM penstock_usage_group_cells(p_org, 2, p_from, p_until);
END $$;

-- Puts the rows of one cell, of several folds, together.
CREATE OR REPLACE FUNCTION penstock_usage_merge(p_org text, p_from timestamptz, p_until timestamptz) RETURNS void LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
BEGIN
  IF NOT EXISTS (SELECT 1 FROM usage_cells c WHERE c.org_id = p_org AND c.start >= p_from AND c.start < p_until
      GROUP BY start, period_start, model, provider, key_id, end_user, operation, status, tags HAVING count(*) > 1) THEN
    RETURN;
  END IF;
  EXECUTE format($sql$
    WITH old AS (DELETE FROM usage_cells WHERE org_id = $1 AND start >= $2 AND start < $3 RETURNING *)
    INSERT INTO usage_cells (org_id, start, period_start, model, provider, key_id, end_user, operation, status, tags, %1$s)
    SELECT $1, start, period_start, model, provider, key_id, end_user, operation, status, tags, %2$s
      FROM old GROUP BY start, period_start, model, provider, key_id, end_user, operation, status, tags$sql$, s.names, s.sums)
    USING p_org, p_from, p_until;
END $$;
