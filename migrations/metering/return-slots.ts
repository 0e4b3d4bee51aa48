/**
 * Gives one slot of a window back: the newest that was taken by then. Its place goes to one that was never taken, so that the others' times
 * stay. Where slots share a stamp, the newest stamp has one fewer.
 */
export const RETURN_SLOT = `
CREATE FUNCTION penstock_window_return(p_key text, p_name text, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
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
END $$`;
