import { Migration } from '@mikro-orm/migrations';
import { tenancySql } from './tenancy.js';

/**
 * What each organisation has stored: part 0 are its files, the others its kept answers, in several rows so that calls that end together do not
 * wait for one another. Triggers keep them, so that whoever removes something, however, gives its bytes back.
 */
const TABLE = `
CREATE TABLE stored_bytes (
  org_id text NOT NULL,
  part smallint NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  items bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, part)
) WITH (fillfactor = 50);`;

/** In the order of their rows, as everybody locks several of them. */
const MOVE = (changes: string): string => `
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, c.part, sum(c.bytes), sum(c.items) FROM (${changes}) c (org_id, part, bytes, items)
    GROUP BY c.org_id, c.part HAVING sum(c.bytes) <> 0 OR sum(c.items) <> 0 ORDER BY c.org_id, c.part
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;`;

const counting = (name: string, changes: string): string => `
CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${MOVE(changes)}
  RETURN NULL;
END $$;`;

const FILES = `
${counting('penstock_files_stored', 'SELECT org_id, 0, size_bytes, 1 FROM added')}
${counting('penstock_files_gone', 'SELECT org_id, 0, -size_bytes, -1 FROM gone')}
CREATE TRIGGER files_stored AFTER INSERT ON files REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_stored();
CREATE TRIGGER files_gone AFTER DELETE ON files REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_gone();
INSERT INTO stored_bytes SELECT org_id, 0, sum(size_bytes), count(*) FROM files GROUP BY org_id;`;

/** Neither reads the bytes themselves: the length stands beside them. */
const answer = (sign: string, row: string): string => {
  const bytes = `COALESCE(octet_length(${row}.body), 0) + COALESCE(octet_length(${row}.made), 0)`;
  return `SELECT ${row}.org_id, 1 + (hashtext(${row}.key) & 7), ${sign}(${bytes}), ${sign}CASE WHEN ${bytes} > 0 THEN 1 ELSE 0 END FROM ${row}`;
};

const ANSWERS = `
${counting('penstock_answers_kept', `${answer('', 'added')} UNION ALL ${answer('-', 'gone')}`)}
${counting('penstock_answers_gone', answer('-', 'gone'))}
CREATE TRIGGER idempotency_answers_kept AFTER UPDATE ON idempotency_keys REFERENCING NEW TABLE AS added OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_kept();
CREATE TRIGGER idempotency_answers_gone AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_gone();
INSERT INTO stored_bytes SELECT c.org_id, c.part, sum(c.bytes), sum(c.items)
  FROM (${answer('', 'idempotency_keys')}) c (org_id, part, bytes, items) GROUP BY c.org_id, c.part HAVING sum(c.bytes) > 0;`;

/**
 * A file's row, where the organisation has room for it: decided under the lock of the row that counts, so that of many at once no more are
 * stored than fit. A negative limit is none.
 */
const SAVE = `
CREATE FUNCTION penstock_file_save(p_limit bigint, f files) RETURNS boolean LANGUAGE plpgsql AS $$
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
END $$;`;

/** Each organisation's storage is counted, and has a limit. */
export class Migration0038 extends Migration {
  override up(): void {
    this.addSql(TABLE);
    this.addSql(tenancySql('stored_bytes', { system: true }));
    this.addSql(FILES);
    this.addSql(ANSWERS);
    this.addSql(SAVE);
  }
}
