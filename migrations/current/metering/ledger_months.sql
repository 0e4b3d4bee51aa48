-- The prefix of the ids of operations at a time: `op_` and the ten time characters of a ULID.
CREATE OR REPLACE FUNCTION penstock_ledger_bound(p_at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'op_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
    ((floor(date_part('epoch', p_at) * 1000)::bigint >> shift) & 31)::int + 1, 1), '' ORDER BY shift DESC)
  FROM generate_series(0, 45, 5) shift
$$;

-- The beginning of the month (UTC) that is the given number of months after the month of a time.
CREATE OR REPLACE FUNCTION penstock_month_start(p_at timestamptz, p_after int) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT (date_trunc('month', p_at AT TIME ZONE 'UTC') + p_after * interval '1 month') AT TIME ZONE 'UTC'
$$;

-- The name of a month's partition.
CREATE OR REPLACE FUNCTION penstock_ledger_month(p_month timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'usage_ledger_' || to_char(p_month AT TIME ZONE 'UTC', 'YYYY_MM')
$$;

-- Creates the partitions from last month to the month after next, and moves their rows from the default partition. It
-- waits only a short time for a lock, so that no call waits long. Returns the number of partitions that are still
-- missing.
CREATE OR REPLACE FUNCTION penstock_ledger_months(p_now timestamptz DEFAULT clock_timestamp()) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  dropped_before CONSTANT text := COALESCE((SELECT i.ledger_dropped_before FROM installation i), '');
  name text;
  first text;
  next text;
  missing int := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(7301, 2);
  PERFORM set_config('lock_timeout', '100ms', true);
  FOR step IN -1 .. 2 LOOP
    name := penstock_ledger_month(penstock_month_start(p_now, step));
    first := penstock_ledger_bound(penstock_month_start(p_now, step));
    next := penstock_ledger_bound(penstock_month_start(p_now, step + 1));
    CONTINUE WHEN to_regclass(name) IS NOT NULL OR first COLLATE "C" < dropped_before;
    BEGIN
      EXECUTE format('CREATE TABLE %I (LIKE usage_ledger INCLUDING ALL) WITH (fillfactor = 80)', name);
      -- During this transaction, which has an exclusive lock, the owner may move rows.
      ALTER TABLE usage_ledger_default NO FORCE ROW LEVEL SECURITY;
      EXECUTE format('WITH moved AS (DELETE FROM usage_ledger_default WHERE operation_id >= %L AND operation_id < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', first, next, name);
      ALTER TABLE usage_ledger_default FORCE ROW LEVEL SECURITY;
      EXECUTE format('ALTER TABLE usage_ledger ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, first, next);
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
      EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXCEPTION WHEN lock_not_available THEN
      missing := missing + 1;
    END;
  END LOOP;
  RETURN missing;
END $$;

-- Removes the partition of a month that is no longer needed. The caller has locked the ledger.
CREATE OR REPLACE FUNCTION penstock_ledger_remove(p_month timestamptz) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  EXECUTE format('DROP TABLE %I', penstock_ledger_month(p_month));
END $$;

REVOKE EXECUTE ON FUNCTION penstock_ledger_months(timestamptz), penstock_ledger_remove(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION penstock_ledger_months(timestamptz), penstock_ledger_remove(timestamptz) TO penstock_system;

-- Drops the oldest month that ended more than `p_keep` months ago, with all its rows. A month stays while any of its
-- operations is open or not in the rollups yet. Returns `none`, `kept`, `busy` or `dropped`. It waits only a short time
-- for the lock of the ledger, because every call waits behind it.
CREATE OR REPLACE FUNCTION penstock_ledger_drop(p_keep int, p_now timestamptz DEFAULT clock_timestamp()) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  month timestamptz;
  first text;
  next text;
BEGIN
  PERFORM pg_advisory_xact_lock(7301, 2);
  SELECT to_date(right(c.relname, 7), 'YYYY_MM')::timestamp AT TIME ZONE 'UTC' INTO month
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'usage_ledger'::regclass AND c.relname ~ '^usage_ledger_[0-9]{4}_[0-9]{2}$'
    ORDER BY c.relname LIMIT 1;
  IF month IS NULL OR month >= penstock_month_start(p_now, -p_keep) THEN
    RETURN 'none';
  END IF;
  first := penstock_ledger_bound(month);
  next := penstock_ledger_bound(penstock_month_start(month, 1));
  IF penstock_ledger_needed(first, next) THEN
    RETURN 'kept';
  END IF;
  PERFORM set_config('lock_timeout', '50ms', true);
  BEGIN
    LOCK TABLE usage_ledger IN ACCESS EXCLUSIVE MODE;
  EXCEPTION WHEN lock_not_available THEN
    RETURN 'busy';
  END;
  -- Checks again for operations that began (and perhaps ended) meanwhile.
  IF penstock_ledger_needed(first, next) THEN
    RETURN 'kept';
  END IF;
  UPDATE installation i SET ledger_dropped_before = greatest(i.ledger_dropped_before, next);
  PERFORM penstock_ledger_remove(month);
  RETURN 'dropped';
END $$;

-- Whether any operation in a range of ids is open, or not in the rollups. It is fast enough to run under the lock: it
-- reads only organisations whose ledgers are ahead of their rollups.
CREATE OR REPLACE FUNCTION penstock_ledger_needed(p_first text, p_next text) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM usage_ledger l WHERE l.state = 'reserved' AND l.operation_id >= p_first AND l.operation_id < p_next)
    OR EXISTS (SELECT 1 FROM balances b LEFT JOIN usage_folds f ON f.org_id = b.org_id CROSS JOIN LATERAL (
        SELECT 1 FROM usage_ledger l WHERE l.org_id = b.org_id AND l.sequence > COALESCE(f.sequence, 0)
          AND l.operation_id >= p_first AND l.operation_id < p_next LIMIT 1) l
      WHERE NOT b.superseded AND b.sequence > COALESCE(f.sequence, 0));
END $$;
