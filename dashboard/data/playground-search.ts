import { textIn } from './search.js';

/** The search parameters with which the playground opens. */
export interface PlaygroundSearch {
  /** The id of the chosen model. */
  model?: string | undefined;
  /** The id of a job. The form starts with the input of this job. */
  job?: string | undefined;
}

export const readPlaygroundSearch = (search: Record<string, unknown>): PlaygroundSearch => ({
  model: textIn(search, 'model'),
  job: textIn(search, 'job'),
});
