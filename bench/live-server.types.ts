/** The message of a server in the comparison of subscriptions when it listens. A subscriber first gets the current job. */
export interface LiveServer {
  port: number;
  /** The payload of `connection_init`. */
  payload: Record<string, unknown>;
  jobId: string;
}

/** Publishes a number of events: all at once, or one after the other with a pause between. */
export interface Publish {
  events: number;
  gapMs: number;
  /** The server answers each event that it commits one after the other with {@link Published}. */
  acknowledges?: true;
}

/** An event is committed. */
export interface Published {
  /** Unix milliseconds, before the statement was sent. */
  sentAt: number;
}

export const SUBSCRIPTION = `subscription Progress($id: ID!) { jobProgress(id: $id) { sequence type job {
  id orgId userId tool status progress inputParams outputData estimatedCredits actualCredits errorMessage createdAt startedAt completedAt
  modelId modelTier } } }`;
