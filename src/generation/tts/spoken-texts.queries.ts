import type { Database } from '../../database/database.types.js';
import type { KnownSpeech } from '../../providers/index.js';

/** Texts that the sandbox spoke for an organisation. A transcription recognises the speech by its fingerprint and returns the text. */
export interface SpokenTexts {
  /** Deleted with the job. A second call for the same job changes nothing. */
  remember(orgId: string, jobId: string, speech: KnownSpeech): Promise<void>;
  /** The newest speeches that are not longer than the recording. */
  newest(orgId: string, maxSeconds: number): Promise<KnownSpeech[]>;
}

const NEWEST = 200;
const REMEMBER = `INSERT INTO spoken_texts (job_id, org_id, text, seconds, print) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (job_id) DO NOTHING`;
const FIND = `SELECT text, seconds, print AS fingerprint FROM spoken_texts WHERE seconds <= $1 ORDER BY created_at DESC LIMIT ${NEWEST}`;
/** Difference in length that encoders and containers cause. */
const SLACK_SECONDS = 0.2;

export function createSpokenTexts(database: Pick<Database, 'tenantQuery'>): SpokenTexts {
  return {
    async remember(orgId, jobId, { text, seconds, fingerprint }) {
      await database.tenantQuery(orgId, REMEMBER, [jobId, orgId, text, seconds, Buffer.from(fingerprint)]);
    },
    newest: async (orgId, maxSeconds) =>
      await database.tenantQuery<KnownSpeech>(orgId, FIND, [maxSeconds + SLACK_SECONDS]),
  };
}
