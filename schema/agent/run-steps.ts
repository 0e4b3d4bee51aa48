import type { AgentRun, AgentRunService, RunStep } from '../../src/agents/agents.types.js';
import type { CallContext } from '../../src/metering/call-context.js';

interface Batch {
  runIds: Set<string>;
  steps: Promise<Map<string, RunStep[]>>;
}

const open = new WeakMap<CallContext, Batch>();

/** A run's steps; all runs of one operation that need steps in the same turn share one read, so that a page of runs costs two statements. */
export async function loadSteps(
  runs: Pick<AgentRunService, 'stepsOf'>,
  call: CallContext,
  { id, orgId }: Pick<AgentRun, 'id' | 'orgId'>,
): Promise<RunStep[]> {
  let batch = open.get(call);
  if (!batch) {
    const runIds = new Set<string>();
    const steps = Promise.resolve().then(() => {
      open.delete(call);
      return runs.stepsOf(orgId, [...runIds]);
    });
    batch = { runIds, steps };
    open.set(call, batch);
  }
  batch.runIds.add(id);
  return (await batch.steps).get(id) ?? [];
}
