/** Adds a row; the database's clock says when. A person without a name is named by their email address. */
export const INSERT_AUDIT = `INSERT INTO audit_log (id, org_id, actor_kind, actor_id, actor_name, address, action, subject_id, subject_name, before, after)
  VALUES ($1, $2, $3, $4, COALESCE($5, (SELECT email FROM users WHERE $3 IN ('person', 'operator') AND id = $4)), $6, $7, $8, $9, $10::jsonb, $11::jsonb)`;
