-- The columns of sums in `usage_cells` and `usage_rollups`.
CREATE OR REPLACE FUNCTION penstock_usage_columns() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['requests', 'errors', 'unpriced', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens',
    'reasoning_tokens', 'cost_nano', 'latency'] || penstock_bucket_names()
$$;

-- A sum of bigint as bigint: an overflow is an error. The built-in sum is numeric, which takes several times as long for
-- the many short groups here.
CREATE OR REPLACE AGGREGATE penstock_sum(bigint) (
  sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe
);

-- Those columns, and their sums, as a list in SQL.
CREATE OR REPLACE FUNCTION penstock_usage_sums(OUT names text, OUT sums text) LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(c, ', '), string_agg(CASE c WHEN 'latency' THEN 'sum' ELSE 'penstock_sum' END || '(' || c || ')', ', ') FROM unnest(penstock_usage_columns()) c
$$;

-- A latency as a histogram in one number: twelve decimal digits for each bucket, so that the sum of such numbers adds
-- the counts; null for null. Bucket n counts latencies above 1.1^(n-1) ms and at most 1.1^n ms; src/usage/latency.ts
-- reads it. The digits of bucket 72 (about a second) are directly before the decimal point: PostgreSQL adds numbers faster
-- if they have few digits between their own and the point.
CREATE OR REPLACE FUNCTION penstock_latency_digit(p_ms int) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT ('1e' || 12 * (CASE WHEN p_ms <= 1 THEN 0 WHEN p_ms > 1 THEN least(ceil(ln(p_ms::float8) / ln(1.1::float8))::int, 220) END - 72))::numeric
$$;

-- The length of a piece of time at a level of `usage_rollups`. Each piece consists of whole pieces of the level below.
CREATE OR REPLACE FUNCTION penstock_usage_step(p_level int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT (ARRAY['30 minutes', '4 hours', '1 day', '7 days']::interval[])[p_level]
$$;

-- Sums the cells from `p_from` to before `p_until` by the grouping sets of level 1 (half hours), or by the additional
-- sets of level 3 (days: pairs with an end user). Their rollups must not exist yet. A GROUPING of a level has a bit for each
-- column that is summed over; the bits of `dims` are the other columns. Rows are written in the order of the index, so
-- that a filtered read finds neighbouring rows.
CREATE OR REPLACE FUNCTION penstock_usage_group_cells(p_org text, p_level int, p_from timestamptz, p_until timestamptz) RETURNS void
LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
  step CONSTANT interval := penstock_usage_step(p_level);
  sets CONSTANT text := CASE p_level
    WHEN 1 THEN '(), (model), (provider), (key_id), (end_user), (operation), (status), (model, provider), (model, key_id), '
      '(model, operation), (model, status), (provider, key_id), (provider, operation), (provider, status), (key_id, operation), '
      '(key_id, status), (operation, status)'
    ELSE '(model, end_user), (provider, end_user), (key_id, end_user), (end_user, operation), (end_user, status)' END;
  tag_sets CONSTANT text := CASE p_level WHEN 1 THEN '(), (model), (provider), (key_id), (operation), (status)' ELSE '(end_user)' END;
  -- Columns that no set of a level contains; PostgreSQL has no GROUPING for them.
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

-- Sums a level from the level below it, and the sets that the lower level does not have from the cells. Its rollups must not exist yet.
CREATE OR REPLACE FUNCTION penstock_usage_add_up(p_org text, p_level int, p_from timestamptz, p_until timestamptz) RETURNS void
LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
BEGIN
  IF p_level > 1 THEN
    EXECUTE format($sql$
      INSERT INTO usage_rollups (org_id, level, dims, start, model, provider, key_id, end_user, operation, status, tag, %1$s)
      SELECT $1, $4, dims, date_bin($5, start, 'epoch') AS at, model, provider, key_id, end_user, operation, status, tag, %2$s
        FROM usage_rollups WHERE org_id = $1 AND level = $4 - 1 AND start >= $2 AND start < $3
        GROUP BY dims, at, model, provider, key_id, end_user, operation, status, tag
        ORDER BY dims, at, model, provider, key_id, operation, status, tag$sql$, s.names, s.sums)
      USING p_org, p_from, p_until, p_level, penstock_usage_step(p_level);
  END IF;
  IF p_level IN (1, 3) THEN
    PERFORM penstock_usage_group_cells(p_org, p_level, p_from, p_until);
  END IF;
END $$;

-- Merges the rows of one cell that several folds wrote. Only folding and grouping change cells, so a row keeps its place meanwhile.
CREATE OR REPLACE FUNCTION penstock_usage_merge(p_org text, p_from timestamptz, p_until timestamptz) RETURNS void LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $$
DECLARE
  s record := penstock_usage_sums();
  cell CONSTANT text := 'start, period_start, model, provider, key_id, end_user, operation, status, tags';
BEGIN
  EXECUTE format($sql$
    WITH old AS (DELETE FROM usage_cells WHERE ctid = ANY (ARRAY(
        SELECT unnest(array_agg(c.ctid)) FROM usage_cells c WHERE c.org_id = $1 AND c.start >= $2 AND c.start < $3
          GROUP BY %3$s HAVING count(*) > 1)) RETURNING *)
    INSERT INTO usage_cells (org_id, %3$s, %1$s) SELECT $1, %3$s, %2$s FROM old GROUP BY %3$s$sql$, s.names, s.sums, cell)
    USING p_org, p_from, p_until;
END $$;
