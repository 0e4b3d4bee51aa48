import type { Database } from '../../database/database.types.js';
import type { KnownSpeech } from '../../providers/index.js';

/** What an organisation had spoken by the sandbox: by it a transcription gives the words back, whatever became of the file's tags. */
export interface SpokenTexts {
  /** Forgotten with its job. Again for the same job: nothing changes. */
  remember(orgId: string, jobId: string, speech: KnownSpeech): Promise<void>;
  /** The newest that are no longer than the recording. */
  newest(orgId: string, maxSeconds: number): Promise<KnownSpeech[]>;
}

const NEWEST = 200;
const REMEMBER = `INSERT INTO spoken_texts (job_id, org_id, text, seconds, print) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (job_id) DO NOTHING`;
const FIND = `SELECT text, seconds, print FROM spoken_texts WHERE seconds <= $1 ORDER BY created_at DESC LIMIT ${NEWEST}`;
/** What encoders and containers add or lose. */
const SLACK_SECONDS = 0.2;

export function createSpokenTexts(database: Pick<Database, 'tenantQuery'>): SpokenTexts {
  return {
    async remember(orgId, jobId, { text, seconds, print }) {
      await database.tenantQuery(orgId, REMEMBER, [jobId, orgId, text, seconds, Buffer.from(print)]);
    },
    newest: async (orgId, maxSeconds) =>
      await database.tenantQuery<KnownSpeech>(orgId, FIND, [maxSeconds + SLACK_SECONDS]),
  };
}
