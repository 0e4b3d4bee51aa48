/** Statements of trusted documents (beyond 14.8). */

/** A published name keeps its meaning: one that is known with another text stops the whole publication. */
export const PUBLISH = `
WITH given AS (SELECT * FROM unnest($1::text[], $2::text[]) AS g (name, body)),
added AS (INSERT INTO trusted_documents (name, body) SELECT name, body FROM given ON CONFLICT (name) DO NOTHING RETURNING name)
SELECT g.name, t.body IS DISTINCT FROM g.body AND t.name IS NOT NULL AS differs, a.name IS NOT NULL AS added
FROM given g LEFT JOIN trusted_documents t ON t.name = g.name LEFT JOIN added a ON a.name = g.name`;

export const READ_ALL = {
  name: 'penstock_trusted_documents',
  text: 'SELECT name, body FROM trusted_documents',
};
