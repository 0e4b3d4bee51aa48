-- `credits.low` and `credits.depleted`, each once for a period and bucket, for buckets with an allowance. They depend
-- on `used`, not on reserved amounts. Returns the row with its flags set; the caller writes it.
CREATE OR REPLACE FUNCTION penstock_balance_events(b balances) RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  names CONSTANT text[] := penstock_bucket_names();
  low boolean[] := b.low_fired;
  depleted boolean[] := b.depleted_fired;
  cap bigint;
  data jsonb;
BEGIN
  FOR k IN 1 .. cardinality(names) LOOP
    CONTINUE WHEN k = 2 OR depleted[k] OR b.allowance[k] = -1;
    cap := b.allowance[k] + b.topup_start[k] + b.topup_added[k];
    CONTINUE WHEN cap <= 0 OR (cap - b.used[k]) * 10 >= cap OR (low[k] AND cap > b.used[k]);
    data := jsonb_build_object('bucketType', names[k], 'remaining', trim_scale(greatest(0, cap - b.used[k]) / 100.0),
      'limit', trim_scale(cap / 100.0), 'percentUsed', trim_scale(round(b.used[k] * 100.0 / cap, 2)));
    IF NOT low[k] THEN
      low[k] := true;
      PERFORM penstock_emit('events', b.org_id, penstock_event('credits.low', b.org_id, data));
    END IF;
    IF cap <= b.used[k] THEN
      depleted[k] := true;
      PERFORM penstock_emit('events', b.org_id, penstock_event('credits.depleted', b.org_id, data));
    END IF;
  END LOOP;
  b.low_fired := low;
  b.depleted_fired := depleted;
  RETURN b;
END $$;
