-- Admission of a batch of requests, in order (decisions 1 and 4). For each request: checks that the key is valid and
-- that the caller's copy of the organisation is current; takes the slots of its windows if all are free; reserves the
-- whole price if it fits, with its ledger row, and in each budget that counts it. Each row is written once for the
-- whole batch.
--
-- Nearly always everything fits, and then only sums are checked and written, not single requests. If anything does not
-- fit, all writes are undone, and penstock_admit_each checks the requests one by one.
--
-- Returns {"w": [[slots left, gains a slot at, now], …]} by window if all were admitted, else the result of
-- penstock_admit_each.
CREATE OR REPLACE FUNCTION penstock_admit(
  p_holder text, p_callers admission_caller[], p_windows admission_window[], p_orgs admission_org[],
  p_counters admission_counter[], p_profiles admission_profile[], p_requests admission_request[]
) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  answer text := '';
  org_period timestamptz[] := '{}';
  began timestamptz;
  f admission_profile;
  counter_ids bigint[];
  -- By profile: its counters' ids as an array, as text. Empty if the batch has none.
  profile_counters text[] := '{}';
  c admission_caller;
  w admission_window;
  o admission_org;
  r record;
BEGIN
  -- An assignment, because PERFORM would be an additional statement.
  answer := left(set_config('synchronous_commit', 'off', true), 0);
  BEGIN
    FOREACH c IN ARRAY p_callers LOOP
      IF NOT EXISTS (SELECT 1 FROM api_keys q JOIN organizations g ON g.id = q.org_id
          WHERE q.id = c.key_id AND q.revoked_at IS NULL AND (q.expires_at IS NULL OR q.expires_at > clock_timestamp())
            AND g.version = c.version AND (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) = c.ended) THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
    END LOOP;
    FOREACH w IN ARRAY p_windows LOOP
      r := penstock_window_take(w.key_id, w.name, w.grain, w.stamps, w.length_us, w.wanted);
      IF r.slots IS NULL THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      answer := answer || CASE WHEN answer = '' THEN '[' ELSE ',[' END || r.slots || ',' || r.gains_at || ',' || r.now_us || ']';
    END LOOP;
    FOREACH o IN ARRAY p_orgs LOOP
      -- One guarded update: adds the batch's amounts if all of them fit, else changes nothing.
      IF 0 = ALL (o.wanted[3:]) THEN
        -- Chat and embeddings: only credits and their token view.
        UPDATE balances b SET reserved[1] = b.reserved[1] + o.wanted[1], reserved[2] = b.reserved[2] + o.wanted[2]
          WHERE b.org_id = o.id AND NOT b.superseded AND b.period_end > clock_timestamp()
            AND b.org_version <= o.version AND b.allowance = o.allowance
            AND (b.allowance[1] = -1
              OR b.allowance[1] + b.topup_start[1] + b.topup_added[1] - b.used[1] - b.reserved[1] >= o.wanted[1])
          RETURNING b.period_start INTO began;
      ELSE
        UPDATE balances b SET reserved = ARRAY(
            SELECT v.reserved + v.wanted FROM unnest(b.reserved, o.wanted) WITH ORDINALITY v (reserved, wanted, nth) ORDER BY v.nth)
          WHERE b.org_id = o.id AND NOT b.superseded AND b.period_end > clock_timestamp()
            AND b.org_version <= o.version AND b.allowance = o.allowance
            AND NOT EXISTS (
              SELECT 1 FROM unnest(o.wanted, penstock_available(b)) WITH ORDINALITY v (wanted, available, nth)
              WHERE v.wanted <> 0 AND v.wanted > v.available AND v.nth <> 2)
          RETURNING b.period_start INTO began;
      END IF;
      IF NOT FOUND THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      org_period := org_period || began;
    END LOOP;
    IF cardinality(p_counters) > 0 THEN
      counter_ids := penstock_budget_reserve(p_counters);
      FOREACH f IN ARRAY p_profiles LOOP
        profile_counters := profile_counters || CASE WHEN f.counters IS NOT NULL THEN
          ARRAY(SELECT counter_ids[k] FROM unnest(f.counters) k)::text END;
      END LOOP;
    END IF;
    IF cardinality(p_orgs) > 0 THEN
      INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
        job_id, run_id, holder, service_client, client_name, user_agent, end_user, tags, parent, reserved_nano, counters)
      SELECT request.operation_id, (p_orgs[profile.org]).id, (p_callers[profile.caller]).key_id, (p_callers[profile.caller]).user_id,
        profile.kind, 'reserved', org_period[profile.org],
        COALESCE(profile.fixed, penstock_token_vector(request.credits, request.tokens)),
        profile.model, request.request_id, request.job_id, request.run_id, p_holder, profile.service_client, profile.client_name,
        profile.user_agent, profile.end_user, profile.tags, request.parent, request.nano,
        profile_counters[profile.ordinality]::bigint[]
      FROM unnest(p_profiles) WITH ORDINALITY profile
      JOIN unnest(p_requests) request ON request.profile = profile.ordinality
      WHERE request.operation_id IS NOT NULL;
    END IF;
  EXCEPTION WHEN SQLSTATE 'PM001' OR unique_violation THEN
    RETURN penstock_admit_each(p_holder, p_callers, p_windows, p_orgs, p_counters, p_profiles, p_requests)::text;
  END;
  RETURN '{"w":[' || answer || ']}';
END $$;
