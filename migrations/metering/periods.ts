/** Top-up units of a period that its allowance did not make unnecessary: what the next period begins with. */
const CARRY = `
CREATE OR REPLACE FUNCTION penstock_carry(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN a = -1 THEN s + t ELSE greatest(0, s + t - greatest(0, u + r - a)) END ORDER BY nth)
  FROM unnest(b.allowance, b.topup_start, b.topup_added, b.used, b.reserved) WITH ORDINALITY v (a, s, t, u, r, nth)
$$;`;

const BUCKET_NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const limitOf = (k: number): string =>
  `CASE WHEN b.allowance[${k}] = -1 THEN -1 ELSE b.allowance[${k}] + b.topup_start[${k}] + b.topup_added[${k}] END`;

/** Limits by bucket, hundredths; -1 is unlimited; chat_tokens is credits × 1000. One expression, which PostgreSQL takes in place. */
const LIMITS = `
CREATE OR REPLACE FUNCTION penstock_limits(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[${BUCKET_NUMBERS.map((k) => (k === 2 ? `(${limitOf(1)}) * CASE WHEN b.allowance[1] = -1 THEN 1 ELSE 1000 END` : limitOf(k))).join(', ')}]
$$;`;

/**
 * The organisation's current row, locked; made at the first use of a period, with the unspent top-ups of the one before. An allowance
 * that differs (another plan, another PLANS_FILE) is adopted unless the row knows a newer version of the organisation.
 *
 * Never locks the organisation: who changes a plan holds that lock and waits for the balance, so nobody may wait the other way round.
 */
const OPEN = `
CREATE OR REPLACE FUNCTION penstock_balance_open(p_org_id text, p_version bigint, p_allowance bigint[])
RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  b balances;
  p record;
BEGIN
  LOOP
    SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
    IF FOUND AND (b.org_version > p_version OR b.period_end > clock_timestamp() AND b.allowance = p_allowance) THEN
      RETURN b;
    ELSIF FOUND AND b.period_end > clock_timestamp() THEN
      b.allowance := p_allowance;
      b.org_version := p_version;
      b := penstock_balance_events(b);
      UPDATE balances c SET allowance = b.allowance, org_version = b.org_version, low_fired = b.low_fired,
        depleted_fired = b.depleted_fired WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
      RETURN b;
    END IF;
    PERFORM penstock_balance_next(b, p_org_id, p_version, p_allowance);
  END LOOP;
END $$;`;

/** Makes the next period's row after `b` (locked, or null where there is none yet). A lost race is no fault: the caller looks again. */
const NEXT = `
CREATE OR REPLACE FUNCTION penstock_balance_next(b balances, p_org_id text, p_version bigint, p_allowance bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o record;
BEGIN
  SELECT g.anchor_at, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  UPDATE balances c SET superseded = true WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
  INSERT INTO balances (org_id, period_start, period_end, anchor_at, org_version, allowance, topup_start)
    VALUES (p_org_id, greatest(o.period_start, b.period_end), o.period_end, o.anchor_at, p_version, p_allowance,
      COALESCE(penstock_carry(b), '{0,0,0,0,0,0,0,0,0}'))
    ON CONFLICT DO NOTHING;
END $$;`;

/**
 * For the transaction that changes a plan, after it wrote the organisation. The anchor kept: the current period goes on with the new
 * allowance and its `used`. The anchor moved (from Free, after an ended subscription): the current period ends where the new one
 * begins; reservations made in it are still settled in it, and unspent top-ups go over.
 */
const PLAN_CHANGED = `
CREATE OR REPLACE FUNCTION penstock_plan_changed(p_org_id text, p_allowance bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o record;
  b balances;
BEGIN
  SELECT g.anchor_at, g.version, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
  IF FOUND AND b.anchor_at <> o.anchor_at AND b.period_end > o.period_start THEN
    b.period_end := greatest(o.period_start, b.period_start + interval '1 microsecond');
    UPDATE balances c SET period_end = b.period_end WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
    PERFORM penstock_balance_next(b, p_org_id, o.version, p_allowance);
  ELSE
    PERFORM penstock_balance_open(p_org_id, o.version, p_allowance);
  END IF;
END $$;`;

/**
 * `credits.low` and `credits.depleted`, each once for a period and bucket, for buckets with an allowance. They follow `used`, not
 * what is reserved. Answers the row with its flags set; the caller writes it.
 */
const EVENTS = `
CREATE OR REPLACE FUNCTION penstock_balance_events(b balances) RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  names CONSTANT text[] := '{credits,chat_tokens,image_generations,image_edits,video_seconds,stt_seconds,tts_chars,music_tracks,agent_runs}';
  low boolean[] := b.low_fired;
  depleted boolean[] := b.depleted_fired;
  cap bigint;
  data jsonb;
BEGIN
  FOR k IN 1..9 LOOP
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
END $$;`;

/**
 * Writes a row whose used, reserved, allowance or top-ups were changed, with its events. An earlier period's row also hands on the
 * change of what it leaves over, period by period, so that top-ups stay exact when a reservation ends late.
 */
const WRITE = `
CREATE OR REPLACE FUNCTION penstock_balance_write(b balances) RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  newer balances;
  old_carry bigint[];
  new_carry bigint[];
  newer_carry bigint[];
BEGIN
  b := penstock_balance_events(b);
  IF b.superseded THEN
    SELECT penstock_carry(c) INTO old_carry FROM balances c WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
    new_carry := penstock_carry(b);
  END IF;
  UPDATE balances c SET used = b.used, reserved = b.reserved, topup_added = b.topup_added, low_fired = b.low_fired,
    depleted_fired = b.depleted_fired WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
  IF old_carry IS DISTINCT FROM new_carry THEN
    FOR newer IN
      SELECT * FROM balances c WHERE c.org_id = b.org_id AND c.period_start > b.period_start ORDER BY c.period_start FOR UPDATE
    LOOP
      newer_carry := penstock_carry(newer);
      newer.topup_start := (SELECT array_agg(s + n - o ORDER BY nth)
        FROM unnest(newer.topup_start, new_carry, old_carry) WITH ORDINALITY v (s, n, o, nth));
      UPDATE balances c SET topup_start = newer.topup_start WHERE c.org_id = b.org_id AND c.period_start = newer.period_start;
      old_carry := newer_carry;
      new_carry := penstock_carry(newer);
    END LOOP;
  END IF;
  RETURN b;
END $$;`;

/** The amounts that a caller is shown after a change: the current period's, whichever period the operation belonged to. */
const SHOW = `
CREATE OR REPLACE FUNCTION penstock_balance_show(b balances) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF b.superseded THEN
    SELECT * INTO b FROM balances c WHERE c.org_id = b.org_id AND NOT c.superseded;
  END IF;
  RETURN '{"limits":' || array_to_json(penstock_limits(b)) || ',"used":' || array_to_json(b.used)
    || ',"reserved":' || array_to_json(b.reserved) || '}';
END $$;`;

export const PERIODS = [CARRY, LIMITS, EVENTS, NEXT, OPEN, PLAN_CHANGED, WRITE, SHOW];
