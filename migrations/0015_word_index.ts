import { Migration } from '@mikro-orm/migrations';

/**
 * Passages enter their index as they are written. Gathered in a list until the next vacuum they are found as well, but every search of
 * every agent walks that list: the index of a large file was ten times slower in its first minute.
 */
export class Migration0015 extends Migration {
  override up(): void {
    this.addSql('ALTER INDEX knowledge_chunks_search SET (fastupdate = off)');
    this.addSql(`SELECT gin_clean_pending_list('knowledge_chunks_search'::regclass)`);
  }
}
