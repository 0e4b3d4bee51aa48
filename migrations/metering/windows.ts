const NOW = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`;

/**
 * Takes slots of a window if they are free, else takes none and answers null. The clock is read after the row's lock was got, so that no
 * slot counts as taken before it was.
 */
const TAKE = `
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
  now_us := ${NOW};
  stamp := greatest(now_us, log[p_stamps]);
  expired := width_bucket(now_us - p_length, log);
  IF p_grain > 1 THEN
    -- Slots still open in the newest stamp; none once it has left the window.
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
END $$;`;

const RESIZED = 'penstock_window_resize(w.stamps, w.grain, p_grain, p_stamps)';
const RESIZED_BY_FILL = 'penstock_window_resize(w.stamps, w.grain, w.fill, p_grain, p_stamps)';

/**
 * Locks a window's row, made or brought to another limit where need be, and answers where it stands: slots left, when it gains one.
 */
const open = (resized: string) => `
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
  now_us := ${NOW};
  IF w.grain <> p_grain OR cardinality(w.stamps) <> p_stamps THEN
    w.stamps := ${resized};
    w.fill := p_grain;
    UPDATE rate_windows q SET stamps = w.stamps, grain = p_grain, fill = p_grain WHERE q.key_id = p_key AND q.name = p_name;
  END IF;
  expired := width_bucket(now_us - p_length, w.stamps);
  slots := expired * p_grain + CASE WHEN expired = p_stamps THEN 0 ELSE p_grain - w.fill END;
  gains_at := CASE WHEN expired = p_stamps THEN now_us ELSE w.stamps[expired + 1] END + p_length;
END $$;`;

/** The newest slots of a log, in stamps of another grain: each new stamp is the newest of the old ones that it covers. */
const RESIZE = `
CREATE OR REPLACE FUNCTION penstock_window_resize(p_old bigint[], p_old_grain int, p_grain int, p_stamps int)
RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(COALESCE(s.stamp, 0) ORDER BY n.nth DESC)
  FROM generate_series(0, p_stamps - 1) n (nth)
  LEFT JOIN (
    SELECT covers.nth, max(o.stamp) AS stamp
    FROM unnest(p_old) WITH ORDINALITY o (stamp, i),
      LATERAL (SELECT (cardinality(p_old) - o.i)::bigint * p_old_grain AS newest) slots,
      LATERAL generate_series(slots.newest / p_grain, (slots.newest + p_old_grain - 1) / p_grain) covers (nth)
    GROUP BY covers.nth) s ON s.nth = n.nth
$$;`;

export const WINDOWS = [RESIZE, open(RESIZED), TAKE];

/** Opens a window by what was taken of its newest stamp. */
export const OPEN_BY_FILL = open(RESIZED_BY_FILL);
