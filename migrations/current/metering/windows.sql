-- Takes slots of a window. If there are too few, it takes none and returns null. The clock is read after the row is
-- locked, so no slot is recorded earlier than it was taken.
CREATE OR REPLACE FUNCTION penstock_window_take(
  p_key text, p_name text, p_grain int, p_stamps int, p_length bigint, p_wanted int,
  OUT slots int, OUT gains_at bigint, OUT now_us bigint
) LANGUAGE plpgsql AS $$
DECLARE
  log bigint[];
  filled int;
  expired int;
  fresh int := p_wanted;
  stamp bigint;
BEGIN
  SELECT w.stamps, w.fill INTO log, filled FROM rate_windows w
    WHERE w.key_id = p_key AND w.name = p_name AND w.grain = p_grain AND cardinality(w.stamps) = p_stamps FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  now_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  stamp := greatest(now_us, log[p_stamps]);
  expired := width_bucket(now_us - p_length, log);
  IF p_grain > 1 THEN
    -- Free slots in the newest group; none if the group has left the window.
    IF expired = p_stamps THEN
      filled := p_grain;
    END IF;
    fresh := greatest(0, (p_wanted - (p_grain - filled) + p_grain - 1) / p_grain);
    IF filled < p_grain THEN
      log[p_stamps] := stamp;
    END IF;
    slots := expired * p_grain + p_grain - filled - p_wanted;
    filled := filled + p_wanted - fresh * p_grain;
  ELSE
    slots := expired - p_wanted;
  END IF;
  IF slots < 0 THEN
    slots := NULL;
    RETURN;
  END IF;
  IF fresh > 0 THEN
    log := (log || array_fill(stamp, ARRAY[fresh]))[fresh + 1:];
  END IF;
  UPDATE rate_windows w SET stamps = log, fill = filled WHERE w.key_id = p_key AND w.name = p_name;
  gains_at := log[least(p_stamps, greatest(1, expired - fresh + 1))] + p_length;
END $$;

-- Locks a window's row, creates it or adapts it to a changed limit, and returns its state: the free slots, and when the
-- next slot becomes free.
CREATE OR REPLACE FUNCTION penstock_window_open(
  p_key text, p_name text, p_grain int, p_stamps int, p_length bigint,
  OUT slots int, OUT gains_at bigint, OUT now_us bigint
) LANGUAGE plpgsql AS $$
DECLARE
  w rate_windows;
  expired int;
BEGIN
  SELECT * INTO w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO rate_windows (key_id, name, grain, fill, stamps)
      VALUES (p_key, p_name, p_grain, p_grain, array_fill(0::bigint, ARRAY[p_stamps])) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  END IF;
  now_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  IF w.grain <> p_grain OR cardinality(w.stamps) <> p_stamps THEN
    w.stamps := penstock_window_resize(w.stamps, w.grain, w.fill, p_grain, p_stamps);
    w.fill := p_grain;
    UPDATE rate_windows q SET stamps = w.stamps, grain = p_grain, fill = p_grain WHERE q.key_id = p_key AND q.name = p_name;
  END IF;
  expired := width_bucket(now_us - p_length, w.stamps);
  slots := expired * p_grain + CASE WHEN expired = p_stamps THEN 0 ELSE p_grain - w.fill END;
  gains_at := CASE WHEN expired = p_stamps THEN now_us ELSE w.stamps[expired + 1] END + p_length;
END $$;

-- Converts a log to another grain. Each new stamp is the newest of the old stamps that it covers, and the newest stamp
-- counts only the slots that were taken (one call in a window of 100,000 must not fill a window of 30). The cost grows
-- with the number of new stamps, not of slots: a loop over the slots of a very large window would exceed the
-- statement's time limit.
CREATE OR REPLACE FUNCTION penstock_window_resize(p_old bigint[], p_old_grain int, p_old_fill int, p_grain int, p_stamps int)
RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(COALESCE(s.stamp, 0) ORDER BY n.nth DESC)
  FROM generate_series(0, p_stamps - 1) n (nth)
  LEFT JOIN (
    SELECT covers.nth, max(o.stamp) AS stamp
    FROM unnest(p_old) WITH ORDINALITY o (stamp, i),
      LATERAL (SELECT p_old_fill + (cardinality(p_old) - o.i)::bigint * p_old_grain AS beyond) slots,
      LATERAL generate_series(greatest(0, slots.beyond - p_old_grain) / p_grain,
        LEAST((slots.beyond - 1) / p_grain, p_stamps - 1)) covers (nth)
    GROUP BY covers.nth) s ON s.nth = n.nth
$$;

-- Returns one slot of a window: the newest that was taken at `p_at` or before. A stamp of 0 is added in its place, so
-- the other stamps stay. If slots share a stamp, the newest group loses one.
CREATE OR REPLACE FUNCTION penstock_window_return(p_key text, p_name text, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w rate_windows;
  nth int;
BEGIN
  SELECT * INTO w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  nth := CASE WHEN w.grain = 1 THEN width_bucket(p_at, w.stamps) ELSE cardinality(w.stamps) END;
  IF nth = 0 OR w.stamps[nth] = 0 THEN
    RETURN;
  END IF;
  IF w.grain > 1 AND w.fill > 1 THEN
    UPDATE rate_windows q SET fill = w.fill - 1 WHERE q.key_id = p_key AND q.name = p_name;
  ELSE
    UPDATE rate_windows q SET stamps = 0::bigint || w.stamps[:nth - 1] || w.stamps[nth + 1:], fill = w.grain
      WHERE q.key_id = p_key AND q.name = p_name;
  END IF;
END $$;
