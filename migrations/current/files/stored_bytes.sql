-- The number of bytes that each organisation has stored. Part 0 counts its files, parts 1 to 8 its stored answers,
-- parts 9 to 16 its responses; there are several rows, so that calls that end together do not wait for one another.
-- Triggers maintain the rows, so every deletion is counted. All code locks the rows in the order of the primary key.
CREATE TABLE stored_bytes (
  org_id text NOT NULL,
  part smallint NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  items bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, part)
) WITH (fillfactor = 50);

ALTER TABLE stored_bytes ENABLE ROW LEVEL SECURITY;
ALTER TABLE stored_bytes FORCE ROW LEVEL SECURITY;
CREATE POLICY stored_bytes_tenant ON stored_bytes TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON stored_bytes TO penstock_tenant;
CREATE POLICY stored_bytes_system ON stored_bytes TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON stored_bytes TO penstock_system;

-- After files were inserted.
CREATE OR REPLACE FUNCTION penstock_files_stored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, 0, sum(c.size_bytes), count(*) FROM added c GROUP BY c.org_id ORDER BY c.org_id
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $$;
CREATE TRIGGER files_stored AFTER INSERT ON files REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_stored();

-- After files were deleted.
CREATE OR REPLACE FUNCTION penstock_files_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, 0, -sum(c.size_bytes), -count(*) FROM gone c GROUP BY c.org_id ORDER BY c.org_id
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $$;
CREATE TRIGGER files_gone AFTER DELETE ON files REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_gone();

-- The size of a stored answer. PostgreSQL reads only the lengths, not the bytes.
CREATE OR REPLACE FUNCTION penstock_answer_bytes(k idempotency_keys) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(octet_length(k.body), 0)::bigint + COALESCE(octet_length(k.made), 0)
$$;

-- After answers were stored or changed.
CREATE OR REPLACE FUNCTION penstock_answers_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, c.part, sum(c.bytes), sum(c.items) FROM (
      SELECT a.org_id, 1 + (hashtext(a.key) & 7) AS part, penstock_answer_bytes(a) AS bytes,
        (penstock_answer_bytes(a) > 0)::int AS items FROM added a
      UNION ALL
      SELECT g.org_id, 1 + (hashtext(g.key) & 7), -penstock_answer_bytes(g), -(penstock_answer_bytes(g) > 0)::int FROM gone g
    ) c GROUP BY c.org_id, c.part HAVING sum(c.bytes) <> 0 OR sum(c.items) <> 0 ORDER BY c.org_id, c.part
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $$;
CREATE TRIGGER idempotency_answers_kept AFTER UPDATE ON idempotency_keys REFERENCING NEW TABLE AS added OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_kept();

-- After idempotency keys were deleted.
CREATE OR REPLACE FUNCTION penstock_answers_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, c.part, -sum(c.bytes), -count(*) FROM (
      SELECT g.org_id, 1 + (hashtext(g.key) & 7) AS part, penstock_answer_bytes(g) AS bytes FROM gone g
    ) c WHERE c.bytes > 0 GROUP BY c.org_id, c.part ORDER BY c.org_id, c.part
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $$;
CREATE TRIGGER idempotency_answers_gone AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_gone();
