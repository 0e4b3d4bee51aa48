import { Migration } from '@mikro-orm/migrations';
import { tenancySql } from './tenancy.js';

/** What the sandbox voice spoke, and by what its sound is known again (decisions 6, "Transcription"). */
export class Migration0013 extends Migration {
  override up(): void {
    this.addSql(`CREATE TABLE spoken_texts (
      job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
      org_id text NOT NULL,
      text text NOT NULL,
      seconds double precision NOT NULL,
      print bytea NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
    this.addSql('CREATE INDEX spoken_texts_newest ON spoken_texts (org_id, created_at DESC)');
    this.addSql(tenancySql('spoken_texts', { system: false }));
  }
}
