import { Migration } from '@mikro-orm/migrations';
import { SYSTEM_ROLE, tenancySql } from './tenancy.js';

/** Stored files, and which store the installation is bound to (decisions 9). */
export class Migration0005 extends Migration {
  override up(): void {
    this.addSql(`CREATE TABLE files (
      id text PRIMARY KEY,
      org_id text NOT NULL,
      content_type text NOT NULL,
      size_bytes bigint NOT NULL,
      extension text NOT NULL,
      width integer,
      height integer,
      duration_seconds double precision,
      -- The job whose input or output it is: it is removed when that job is forgotten. Null: its owner removes it.
      job_id text,
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
    this.addSql('CREATE INDEX files_org_id ON files (org_id)');
    this.addSql('CREATE INDEX files_job_id ON files (job_id) WHERE job_id IS NOT NULL');
    this.addSql(tenancySql('files', { system: true }));
    this.addSql(`CREATE TABLE file_store (
      installation_id text PRIMARY KEY,
      bound_at timestamptz NOT NULL DEFAULT now()
    )`);
    this.addSql(`GRANT SELECT, INSERT ON file_store TO ${SYSTEM_ROLE}`);
  }
}
