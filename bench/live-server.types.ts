/** What a server of the comparison of subscriptions tells once it listens. A subscriber gets the job as it is first. */
export interface LiveServer {
  port: number;
  /** Of `connection_init`. */
  payload: Record<string, unknown>;
  jobId: string;
}

/** Publish so many events: at once, or one after the other with a pause between. */
export interface Publish {
  events: number;
  gapMs: number;
}

export const SUBSCRIPTION = `subscription Progress($id: ID!) { jobProgress(id: $id) { sequence type job {
  id orgId userId tool status progress inputParams outputData estimatedCredits actualCredits errorMessage createdAt startedAt completedAt
  modelId modelTier } } }`;
