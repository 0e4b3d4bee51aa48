/**
 * The newest slots of a log, in stamps of another grain: each new stamp is the newest of the old ones that it covers. Only the new stamps
 * are looked at: a window of millions that became a small one took longer than a statement may.
 */
export const BOUNDED_RESIZE = `
CREATE OR REPLACE FUNCTION penstock_window_resize(p_old bigint[], p_old_grain int, p_grain int, p_stamps int)
RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(COALESCE(s.stamp, 0) ORDER BY n.nth DESC)
  FROM generate_series(0, p_stamps - 1) n (nth)
  LEFT JOIN (
    SELECT covers.nth, max(o.stamp) AS stamp
    FROM unnest(p_old) WITH ORDINALITY o (stamp, i),
      LATERAL (SELECT (cardinality(p_old) - o.i)::bigint * p_old_grain AS newest) slots,
      LATERAL generate_series(slots.newest / p_grain,
        LEAST((slots.newest + p_old_grain - 1) / p_grain, p_stamps - 1)) covers (nth)
    GROUP BY covers.nth) s ON s.nth = n.nth
$$`;

/**
 * As {@link BOUNDED_RESIZE}, but the newest stamp stands only for the slots that were taken of it: one call in a window of 100,000 was 500 to a
 * window of 30, which was full with it.
 */
export const FILLED_RESIZE = `
CREATE FUNCTION penstock_window_resize(p_old bigint[], p_old_grain int, p_old_fill int, p_grain int, p_stamps int)
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
$$`;
