import { JOB_TOOLS } from './words.generated.js';
import { dayIn, textIn, wordIn } from './search.js';

/** The states of a job that the list can be filtered by. */
export const JOB_STATUSES = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;

/** The filter of the list of jobs in its address. */
export interface JobSearch {
  tool?: (typeof JOB_TOOLS)[number] | undefined;
  status?: (typeof JOB_STATUSES)[number] | undefined;
  model?: string | undefined;
  key?: string | undefined;
  /** A part of the prompt. */
  text?: string | undefined;
  /** First and last day, in the browser's time zone. */
  from?: string | undefined;
  to?: string | undefined;
}

/** @throws BadAddress */
export const readJobFilter = (search: Record<string, unknown>): JobSearch => ({
  tool: wordIn(search, 'tool', JOB_TOOLS),
  status: wordIn(search, 'status', JOB_STATUSES),
  model: textIn(search, 'model'),
  key: textIn(search, 'key'),
  text: textIn(search, 'text'),
  from: dayIn(search, 'from'),
  to: dayIn(search, 'to'),
});
