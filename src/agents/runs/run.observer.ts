import type { AgentTool } from '../tools/tool.types.js';
import type { RunRow } from './run.row.js';

/** Stands around what a worker does with a run; it changes nothing. */
export interface RunObserver {
  /**
   * From a run's claim to its end or hand-over.
   * @param run with the provider of the agent's model, null where there is none any more
   * @param work answers what the run failed with (an error's code or name), or null
   */
  run(run: RunRow & { provider: string | null }, work: () => Promise<string | null>): Promise<void>;
  /** One tool call. */
  tool<T>(call: { tool: AgentTool; callId: string }, work: () => Promise<T>): Promise<T>;
}

export const UNOBSERVED: RunObserver = {
  async run(_run, work) {
    await work();
  },
  tool: (_call, work) => work(),
};
