-- Inserts a file's row if the organisation has enough storage left. The function locks the row that counts the bytes,
-- so simultaneous calls cannot exceed the limit together. A negative limit means unlimited.
CREATE OR REPLACE FUNCTION penstock_file_save(p_limit bigint, f files) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  used bigint;
BEGIN
  IF p_limit >= 0 THEN
    INSERT INTO stored_bytes (org_id, part) VALUES (f.org_id, 0) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM stored_bytes s WHERE s.org_id = f.org_id AND s.part = 0 FOR UPDATE;
    SELECT sum(s.bytes) INTO used FROM stored_bytes s WHERE s.org_id = f.org_id;
    IF used + f.size_bytes > p_limit THEN
      RETURN false;
    END IF;
  END IF;
  INSERT INTO files (id, org_id, content_type, size_bytes, extension, width, height, duration_seconds, job_id, run_id)
    VALUES (f.id, f.org_id, f.content_type, f.size_bytes, f.extension, f.width, f.height, f.duration_seconds, f.job_id, f.run_id);
  RETURN true;
END $$;
