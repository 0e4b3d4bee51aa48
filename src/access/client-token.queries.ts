/** Statements of client tokens (beyond 14.1). */

/**
 * Locks the maker's row, so that a revocation waits for the token or the token finds its maker revoked. A token ends with its maker at the
 * latest.
 */
export const INSERT_TOKEN = `
WITH maker AS MATERIALIZED (
  SELECT id, org_id, expires_at FROM api_keys
  WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR SHARE)
INSERT INTO client_tokens (id, org_id, maker_id, hash, scopes, expires_at, end_user, tags, rate_rpm, rate_burst, bound_kind, bound_id)
SELECT $1, m.org_id, m.id, $3, $4, LEAST(clock_timestamp() + $5 * interval '1 second', m.expires_at), $6, $7, $8, $9, $10, $11 FROM maker m
RETURNING date_part('epoch', expires_at) * 1000 AS expires_ms`;

/** The cap of a token, in the same transaction: a budget that counts its calls alone. */
export const INSERT_TOKEN_BUDGET = `
INSERT INTO budgets (id, org_id, name, scope, unit, cap, period, thresholds, token_id)
SELECT $1, t.org_id, 'client token', 'organization', $2, $3, 'total', '{}', t.id FROM client_tokens t WHERE t.id = $4`;

/**
 * Of an organisation, at most a thousand at once; those that another transaction is deleting are left to it. A token whose runs go on stays,
 * because its cap counts their calls.
 */
export const FORGET_TOKENS = `
DELETE FROM client_tokens WHERE id IN (
  SELECT id FROM client_tokens t WHERE org_id = $1 AND expires_at < now() - interval '1 day'
    AND NOT EXISTS (SELECT FROM agent_runs r WHERE r.token_id = t.id AND r.status = 'running')
  LIMIT 1000 FOR UPDATE SKIP LOCKED)`;

/** Ends the tokens that a key has made; its other processes are told by the notice that the key's connections end. */
export const END_TOKENS_OF = 'DELETE FROM client_tokens WHERE maker_id = $1';
