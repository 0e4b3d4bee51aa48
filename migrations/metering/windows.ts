const NOW = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`;

interface WindowSql {
  key: string;
  name: string;
  /** Slots in a stamp. */
  grain: string;
  /** Stamps in the log: grain × stamps is the limit, rounded down. */
  stamps: string;
  /** Microseconds. */
  length: string;
  wanted: string;
}

/**
 * One statement that takes slots of a window if they are free, and else changes nothing; RETURNING what is left, when the window
 * next gains a slot, and the time now. The clock is read after the row's lock was got, so that no slot counts as taken before it was.
 */
export function takeSlots({ key, name, grain, stamps, length, wanted }: WindowSql): string {
  const expired = `width_bucket(${NOW} - ${length}, w.stamps)`;
  // Slots still open in the newest stamp; none once it has left the window.
  const open = `CASE WHEN ${expired} = ${stamps} THEN 0 ELSE ${grain} - w.fill END`;
  const fresh = `greatest(0, (${wanted} - (${open}) + ${grain} - 1) / ${grain})`;
  const stamp = `greatest(${NOW}, w.stamps[${stamps}])`;
  return `UPDATE rate_windows w SET
      stamps = CASE
        WHEN ${grain} = 1 THEN (w.stamps || array_fill(${stamp}, ARRAY[${wanted}]))[${wanted} + 1:]
        WHEN ${open} = 0 THEN (w.stamps || array_fill(${stamp}, ARRAY[${fresh}]))[${fresh} + 1:]
        ELSE (w.stamps[:${stamps} - 1] || array_fill(${stamp}, ARRAY[1 + ${fresh}]))[${fresh} + 1:] END,
      fill = CASE WHEN ${grain} = 1 THEN 1
        ELSE ${grain} + ${wanted} - (${open}) - ${fresh} * ${grain} END
    WHERE w.key_id = ${key} AND w.name = ${name} AND w.grain = ${grain} AND cardinality(w.stamps) = ${stamps}
      AND ${expired} * ${grain} + (${open}) >= ${wanted}
    RETURNING width_bucket(${NOW} - ${length}, w.stamps) * ${grain} + ${grain} - w.fill,
      w.stamps[least(${stamps}, width_bucket(${NOW} - ${length}, w.stamps) + 1)] + ${length}, ${NOW}`;
}

/**
 * Locks a window's row, made or brought to another limit where need be, and answers where it stands: slots left, when it gains one.
 */
const OPEN = `
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
    w.stamps := penstock_window_resize(w.stamps, w.grain, p_grain, p_stamps);
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

export const WINDOWS = [RESIZE, OPEN];
