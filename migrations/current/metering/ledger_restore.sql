-- Writes the ledger row of a lost reservation, with nothing reserved, if the row does not exist. An operation of a
-- dropped month had already ended, so it is not restored.
CREATE OR REPLACE FUNCTION penstock_ledger_restore(p_op text, p_fallback jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b balances;
BEGIN
  IF EXISTS (SELECT 1 FROM usage_ledger l WHERE l.operation_id = p_op)
      OR (SELECT p_op COLLATE "C" < i.ledger_dropped_before FROM installation i) THEN
    RETURN;
  END IF;
  b := penstock_balance_open(p_fallback ->> 'org', (p_fallback ->> 'version')::bigint,
    ARRAY(SELECT a.value::bigint FROM jsonb_array_elements_text(p_fallback -> 'allowance') WITH ORDINALITY a (value, nth) ORDER BY nth));
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id, job_id,
      run_id, service_client, client_name, user_agent, end_user, tags, parent, restored, counters)
    VALUES (p_op, p_fallback ->> 'org', p_fallback ->> 'key', p_fallback ->> 'user', p_fallback ->> 'kind', 'reserved',
      b.period_start, penstock_zeros(), p_fallback ->> 'model', p_fallback ->> 'request', p_fallback ->> 'job',
      p_fallback ->> 'run', p_fallback ->> 'serviceClient', p_fallback ->> 'clientName', p_fallback ->> 'userAgent',
      p_fallback ->> 'endUser', ARRAY(SELECT jsonb_array_elements_text(p_fallback -> 'tags')), p_fallback ->> 'parent', true,
      penstock_budget_restore(p_fallback -> 'budgets'))
    ON CONFLICT DO NOTHING;
END $$;
