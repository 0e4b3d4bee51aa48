/**
 * A batch comes as a few flat arrays, because each parameter of a statement costs both sides time: every row of a list is so many
 * elements. Requests that differ only in their ids and tokens share a profile.
 */
const LISTS = {
  /** Callers: key, user; the organisation's version, and 1 where the caller's copy says that the subscription is over. */
  c: { text: ['key', 'user'], int: ['version', 'ended'] },
  /** Windows, sorted by key and name: the log's form (see rate_windows), microseconds, and the slots that the whole batch wants. */
  w: { text: ['key', 'name'], int: ['caller', 'grain', 'stamps', 'length', 'wanted'] },
  /** Organisations, sorted: the plan's allowance, and the hundredths by bucket that the whole batch wants. */
  o: { text: ['id', 'allowance'], int: ['version', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9'] },
  /** Profiles: numbers of other lists' rows (0: none); multiplier 0 is a fixed price with its amounts and the order of its buckets. */
  f: {
    text: ['kind', 'model', 'serviceClient', 'clientName', 'userAgent', 'fixed', 'order'],
    int: ['caller', 'keyWindow', 'endpointWindow', 'org', 'multiplier'],
  },
  /** Requests; operation is null where nothing is reserved; credits and tokens are the whole price of a token price. */
  r: { text: ['operation', 'request', 'job', 'run'], int: ['profile', 'prompt', 'max', 'credits', 'tokens'] },
} as const;

type ListName = keyof typeof LISTS;

/** An element of a list's row as SQL reads it from the function's parameters. */
function at<List extends ListName>(
  list: List,
  name: (typeof LISTS)[List]['text' | 'int'][number],
  row: string,
): string {
  const { text, int } = LISTS[list] as { text: readonly string[]; int: readonly string[] };
  const [suffix, columns] = text.includes(name) ? ['t', text] : ['n', int];
  return `p_${list}${suffix}[(${row}) * ${columns.length} - ${columns.length - 1 - columns.indexOf(name)}]`;
}

const rowsOf = (list: ListName): string => `cardinality(p_${list}t) / ${LISTS[list].text.length}`;

const PARAMETERS = [
  'p_holder text',
  ...Object.keys(LISTS).flatMap((list) => [`p_${list}t text[]`, `p_${list}n bigint[]`]),
].join(', ');
const ARGUMENTS = PARAMETERS.replaceAll(/ text\[\]| bigint\[\]| text/g, '');

const window = (name: Parameters<typeof at<'w'>>[1]): string => at('w', name, 'i');
const WINDOW = `${window('key')}, ${window('name')}, ${window('grain')}::int, ${window('stamps')}::int, ${window('length')}`;

const BUCKET_NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

const wanted = (k: (typeof BUCKET_NUMBERS)[number]): string => at('o', `w${k}`, 'i');
const fits = (k: (typeof BUCKET_NUMBERS)[number]): string => `(b.allowance[${k}] = -1 OR
          b.allowance[${k}] + b.topup_start[${k}] + b.topup_added[${k}] - b.used[${k}] - b.reserved[${k}] >= ${wanted(k)})`;

/** One guarded update: adds what a batch wants of an organisation's buckets if all of it fits, and else changes nothing. */
function reserveAll(set: string, guards: string[]): string {
  return `UPDATE balances b SET ${set}
        WHERE b.org_id = ${at('o', 'id', 'i')} AND NOT b.superseded AND b.period_end > clock_timestamp()
          AND b.org_version <= ${at('o', 'version', 'i')} AND b.allowance = ${at('o', 'allowance', 'i')}::bigint[]
          AND ${guards.join('\n          AND ')}
        RETURNING b.period_start INTO began`;
}

/** Chat and embeddings: credits and their token view alone. */
const RESERVE_TOKENS = reserveAll(
  `reserved[1] = b.reserved[1] + ${wanted(1)}, reserved[2] = b.reserved[2] + ${wanted(2)}`,
  [fits(1)],
);
const RESERVE_ANY = reserveAll(
  `reserved = ARRAY[${BUCKET_NUMBERS.map((k) => `b.reserved[${k}] + ${wanted(k)}`).join(', ')}]`,
  BUCKET_NUMBERS.filter((k) => k !== 2).map((k) => `(${wanted(k)} = 0 OR ${fits(k)})`),
);
const ONLY_TOKENS = `p_on[${'i * ' + LISTS.o.int.length} - 6:i * ${LISTS.o.int.length}] = '{0,0,0,0,0,0,0}'`;

/** Near the end of a subscription a caller's clock may see it on the other side than the database's: either is taken. */
const CLOCK_SKEW_SECONDS = 5;
const CALLER_FITS = `q.revoked_at IS NULL AND (q.expires_at IS NULL OR q.expires_at > clock_timestamp())`;
const ENDED = `(g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false))`;

const profile = (name: Parameters<typeof at<'f'>>[1]): string => at('f', name, 'u.p');
const INSERT = `INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
        job_id, run_id, holder, service_client, client_name, user_agent)
      SELECT u.op, ${at('o', 'id', 'u.o')}, ${at('c', 'key', 'u.c')}, ${at('c', 'user', 'u.c')}, ${profile('kind')}, 'reserved', org_period[u.o],
        COALESCE(${profile('fixed')}::bigint[], ARRAY[u.credits, u.tokens, 0, 0, 0, 0, 0, 0, 0]), ${profile('model')},
        ${at('r', 'request', 'u.i')}, ${at('r', 'job', 'u.i')}, ${at('r', 'run', 'u.i')}, p_holder,
        ${profile('serviceClient')}, ${profile('clientName')}, ${profile('userAgent')}`;

/** The requests to insert, with the numbers of their profile, organisation and caller. */
const toInsert = (credits: string, tokens: string): string => `FROM (
        SELECT req.nth AS i, req.p, ${at('r', 'operation', 'req.nth')} AS op, ${credits} AS credits, ${tokens} AS tokens, ${at('f', 'org', 'req.p')}::int AS o,
          ${at('f', 'caller', 'req.p')}::int AS c
        FROM (SELECT nth, ${at('r', 'profile', 'nth')}::int AS p FROM generate_series(1, ${rowsOf('r')}) nth) req) u
      WHERE u.op IS NOT NULL`;

/**
 * Admission of a batch of requests, in order (decisions 1 and 4). For each: is the key valid and the caller's copy of the
 * organisation current; are both windows free, then both slots are taken; does the whole price fit, then it is reserved with its
 * ledger row. Each row is written once for the whole batch.
 *
 * Nearly always everything fits, and then no request needs to be looked at by itself: sums are checked and written. Where anything
 * does not, what was written is undone and penstock_admit_each goes through the requests.
 *
 * Answers {"w": [[slots left, gains a slot at, now], …]} by window where all were admitted, else what penstock_admit_each answers.
 */
const ADMIT = `
CREATE OR REPLACE FUNCTION penstock_admit(${PARAMETERS}) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  answer text := '';
  org_period timestamptz[] := '{}';
  began timestamptz;
  r record;
BEGIN
  -- An assignment, because PERFORM would be a statement of its own.
  answer := left(set_config('synchronous_commit', 'off', true), 0);
  BEGIN
    FOR i IN 1 .. ${rowsOf('c')} LOOP
      IF NOT EXISTS (SELECT 1 FROM api_keys q JOIN organizations g ON g.id = q.org_id
          WHERE q.id = ${at('c', 'key', 'i')} AND ${CALLER_FITS} AND g.version = ${at('c', 'version', 'i')} AND ${ENDED} = (${at('c', 'ended', 'i')} = 1)) THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
    END LOOP;
    FOR i IN 1 .. ${rowsOf('w')} LOOP
      r := penstock_window_take(${WINDOW}, ${window('wanted')}::int);
      IF r.slots IS NULL THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      answer := answer || CASE WHEN i = 1 THEN '[' ELSE ',[' END || r.slots || ',' || r.gains_at || ',' || r.now_us || ']';
    END LOOP;
    FOR i IN 1 .. ${rowsOf('o')} LOOP
      IF ${ONLY_TOKENS} THEN
        ${RESERVE_TOKENS};
      ELSE
        ${RESERVE_ANY};
      END IF;
      IF NOT FOUND THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      org_period[i] := began;
    END LOOP;
    IF ${rowsOf('o')} > 0 THEN
      ${INSERT}
      ${toInsert(at('r', 'credits', 'req.nth'), at('r', 'tokens', 'req.nth'))};
    END IF;
  EXCEPTION WHEN SQLSTATE 'PM001' OR unique_violation THEN
    RETURN penstock_admit_each(${ARGUMENTS})::text;
  END;
  RETURN '{"w":[' || answer || ']}';
END $$;`;

/**
 * Goes through the requests of a batch in order. Answers columns by request: c 0 admitted, 1 invalid key, 2 expired key, 3 stale
 * copy, 4 window full, 5 bucket exhausted, 6 the operation exists (its amounts stand in d); x, y slots left of the two windows; g
 * credits reserved; e tokens covered; b the exhausted bucket, m what is left of it; and by window: t when it gains a slot, n the time
 * then (microseconds).
 */
const ADMIT_EACH = `
CREATE OR REPLACE FUNCTION penstock_admit_each(${PARAMETERS}) RETURNS json LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  r record;
  b balances;
  size CONSTANT int := ${rowsOf('r')};
  caller_state int[] := '{}';
  org_open boolean[] := array_fill(false, ARRAY[${rowsOf('o')}]);
  org_period timestamptz[] := '{}';
  org_reserved bigint[] := '{}';
  avail bigint[] := '{}';
  w_slots int[] := '{}';
  w_taken int[] := array_fill(0, ARRAY[${rowsOf('w')}]);
  w_gains bigint[] := '{}';
  w_now bigint[] := '{}';
  codes int[] := array_fill(0, ARRAY[size]);
  left_x int[] := codes;
  left_y int[] := codes;
  credits bigint[] := array_fill(0::bigint, ARRAY[size]);
  tokens bigint[] := credits;
  covered bigint[] := credits;
  short_bucket int[] := codes;
  short_left bigint[] := credits;
  known jsonb := '{}';
  operation text;
  seen text[] := '{}';
  f int;
  x int;
  y int;
  base int;
  need bigint;
  cover bigint;
  have bigint;
  fixed bigint[];
  bucket int;
BEGIN
  FOR i IN 1 .. ${rowsOf('c')} LOOP
    SELECT CASE WHEN q.revoked_at IS NOT NULL THEN 1 WHEN NOT (${CALLER_FITS}) THEN 2
        WHEN g.version <> ${at('c', 'version', 'i')} OR ${ENDED} <> (${at('c', 'ended', 'i')} = 1)
          AND NOT COALESCE(abs(date_part('epoch', g.subscription_ends_at - clock_timestamp())) < ${CLOCK_SKEW_SECONDS}, false) THEN 3
        ELSE 0 END
      INTO x FROM api_keys q JOIN organizations g ON g.id = q.org_id WHERE q.id = ${at('c', 'key', 'i')};
    caller_state := caller_state || COALESCE(x, 1);
  END LOOP;
  FOR i IN 1 .. ${rowsOf('f')} LOOP
    IF ${at('f', 'org', 'i')} > 0 AND caller_state[${at('f', 'caller', 'i')}] = 0 THEN
      org_open[${at('f', 'org', 'i')}] := true;
    END IF;
  END LOOP;
  FOR i IN 1 .. ${rowsOf('w')} LOOP
    IF caller_state[${at('w', 'caller', 'i')}] = 0 THEN
      r := penstock_window_open(${WINDOW});
      w_slots[i] := r.slots;
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  FOR i IN 1 .. ${rowsOf('o')} LOOP
    IF org_open[i] THEN
      b := penstock_balance_open(${at('o', 'id', 'i')}, ${at('o', 'version', 'i')}, ${at('o', 'allowance', 'i')}::bigint[]);
      org_open[i] := b.org_version <= ${at('o', 'version', 'i')};
      org_period[i] := b.period_start;
      avail := avail || penstock_available(b);
      org_reserved := org_reserved || b.reserved;
    ELSE
      avail := avail || array_fill(0::bigint, ARRAY[9]);
      org_reserved := org_reserved || array_fill(0::bigint, ARRAY[9]);
    END IF;
  END LOOP;

  FOR i IN 1 .. size LOOP
    f := ${at('r', 'profile', 'i')};
    codes[i] := caller_state[${at('f', 'caller', 'f')}];
    operation := ${at('r', 'operation', 'i')};
    IF codes[i] = 0 AND operation IS NOT NULL THEN
      IF NOT org_open[${at('f', 'org', 'f')}] THEN
        codes[i] := 3;
      ELSE
        SELECT jsonb_build_object(i - 1, l.reserved) AS entry INTO r FROM usage_ledger l WHERE l.operation_id = operation;
        IF FOUND THEN
          known := known || r.entry;
          codes[i] := 6;
        ELSIF operation = ANY (seen) THEN
          codes[i] := 3;
        ELSE
          seen := seen || operation;
        END IF;
      END IF;
    END IF;
    CONTINUE WHEN codes[i] IN (1, 2, 3);
    x := ${at('f', 'keyWindow', 'f')};
    y := ${at('f', 'endpointWindow', 'f')};
    IF x > 0 AND w_slots[x] <= 0 OR y > 0 AND w_slots[y] <= 0 THEN
      codes[i] := 4;
      left_x[i] := w_slots[x];
      left_y[i] := w_slots[y];
      CONTINUE;
    END IF;
    IF x > 0 THEN
      w_slots[x] := w_slots[x] - 1;
      w_taken[x] := w_taken[x] + 1;
      left_x[i] := w_slots[x];
    END IF;
    IF y > 0 THEN
      w_slots[y] := w_slots[y] - 1;
      w_taken[y] := w_taken[y] + 1;
      left_y[i] := w_slots[y];
    END IF;
    CONTINUE WHEN codes[i] = 6 OR operation IS NULL;
    base := (${at('f', 'org', 'f')} - 1) * 9;
    IF ${at('f', 'multiplier', 'f')} > 0 THEN
      need := ${at('r', 'credits', 'i')};
      cover := ${at('r', 'prompt', 'i')} + ${at('r', 'max', 'i')};
      have := avail[base + 1];
      IF need > have THEN
        need := have / 100 * 100;
        cover := need * 1000 / ${at('f', 'multiplier', 'f')};
        IF need < 100 OR cover < ${at('r', 'prompt', 'i')} + 1 THEN
          codes[i] := 5;
          short_bucket[i] := 2;
          short_left[i] := greatest(0, least(avail[base + 2], have * 1000));
          CONTINUE;
        END IF;
      END IF;
      credits[i] := need;
      covered[i] := cover;
      tokens[i] := cover * ${at('f', 'multiplier', 'f')};
      avail[base + 1] := have - need;
      avail[base + 2] := avail[base + 2] - tokens[i];
      org_reserved[base + 1] := org_reserved[base + 1] + need;
      org_reserved[base + 2] := org_reserved[base + 2] + tokens[i];
    ELSE
      fixed := ${at('f', 'fixed', 'f')}::bigint[];
      FOREACH bucket IN ARRAY ${at('f', 'order', 'f')}::int[] LOOP
        IF fixed[bucket] > greatest(0, avail[base + bucket]) AND bucket <> 2 THEN
          codes[i] := 5;
          short_bucket[i] := bucket;
          short_left[i] := greatest(0, avail[base + bucket]);
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 5;
      FOR k IN 1..9 LOOP
        avail[base + k] := avail[base + k] - fixed[k];
        org_reserved[base + k] := org_reserved[base + k] + fixed[k];
      END LOOP;
    END IF;
  END LOOP;

  ${INSERT}
  ${toInsert('credits[req.nth]', 'tokens[req.nth]')} AND codes[u.i] = 0;
  FOR i IN 1 .. ${rowsOf('o')} LOOP
    IF org_open[i] THEN
      UPDATE balances c SET reserved = org_reserved[(i - 1) * 9 + 1 : i * 9]
        WHERE c.org_id = ${at('o', 'id', 'i')} AND c.period_start = org_period[i];
    END IF;
  END LOOP;
  FOR i IN 1 .. ${rowsOf('w')} LOOP
    IF w_taken[i] > 0 THEN
      r := penstock_window_take(${WINDOW}, w_taken[i]);
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  RETURN json_build_object('c', codes, 'x', left_x, 'y', left_y, 'g', credits, 'e', covered, 'b', short_bucket, 'm', short_left,
    't', w_gains, 'n', w_now, 'd', known);
END $$;`;

/** What is left of each bucket, hundredths; unlimited ones have more than any price. Negative where an operator set more than the limit. */
const AVAILABLE = `
CREATE OR REPLACE FUNCTION penstock_available(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN l = -1 THEN 4000000000000000 ELSE l - u - r END ORDER BY nth)
  FROM unnest(penstock_limits(b), b.used, b.reserved) WITH ORDINALITY v (l, u, r, nth)
$$;`;

export const ADMISSION = [AVAILABLE, ADMIT_EACH, ADMIT];
